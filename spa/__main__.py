"""``python -m spa``: what the ``spa`` script does, where no script stands on the PATH."""

from __future__ import annotations

if __name__ == "__main__":  # and not in a process that this one starts
    try:
        from spa_eval_script import run  # type: ignore[import-untyped]
    except ModuleNotFoundError:  # a checkout that is not installed
        from spa.launcher import run

    run()
