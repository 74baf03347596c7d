"""Entry point of the command line, whose commands are in `flexmbs.command_line`."""

from flexmbs.console.start import start


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    start("flexmbs.command_line", arguments)


if __name__ == "__main__":
    main()
