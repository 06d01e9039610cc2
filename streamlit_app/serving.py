"""The process that serves the dashboard: everything heavy is loaded, and worked out, before it is asked for."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path


def main() -> None:
    """Serve with the settings given as JSON in the first argument."""
    from streamlit.web import bootstrap

    settings = json.loads(sys.argv[1])
    bootstrap.load_config_options({name.replace(".", "_"): value for name, value in settings.items()})
    from streamlit_app import main as application  # loads the analysis, once it is known how loud to be
    from streamlit_app.loading import warm_up

    threading.Thread(target=warm_up, daemon=True).start()
    bootstrap.run(str(Path(application.__file__)), False, [], {})


if __name__ == "__main__":
    main()
