"""The ground floor: frozen records that every step uses and that know no member of an axis."""
