#!/usr/bin/env bash
# rocrate 0.16.0: an empty file with a space in its name goes into a zipped crate under another name.
#
# Guess: write() and write_zip() hold the same files, as one is the other packed. Seen: an empty file is "a b.txt"
# in the folder and "a%20b.txt", its id in the metadata, in the zip, while a file with content keeps its name in both. A
# folder of answers in which one table is empty comes back from the zip with a file that the metadata, read as the
# specification says (ids are URIs, names are decoded), does not lead to.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet rocrate==0.16.0
cd "$place"
"$place/env/bin/python" - <<'PYTHON'
import json
import zipfile
from importlib.metadata import version
from pathlib import Path

from rocrate.rocrate import ROCrate

print("rocrate", version("rocrate"))
Path("from").mkdir()
names = {"no answers.csv": "", "some answers.csv": "annotator_id,score\np1,3\n"}
crate = ROCrate()
for name, text in names.items():
    Path("from", name).write_text(text)
    crate.add_file(f"from/{name}", dest_path=name)
crate.write("folder")
crate.write_zip("crate.zip")
in_folder = sorted(path.name for path in Path("folder").iterdir() if path.suffix == ".csv")
in_zip = sorted(name for name in zipfile.ZipFile("crate.zip").namelist() if name.endswith(".csv"))
ids = [one["@id"] for one in json.loads(Path("folder/ro-crate-metadata.json").read_text())["@graph"]]
print("folder:", in_folder)
print("zip:   ", in_zip)
print("ids:   ", [one for one in ids if one.endswith(".csv")])
assert in_folder == sorted(names)
assert in_zip == ["no%20answers.csv", "some answers.csv"], "the zip holds other names now"
PYTHON
