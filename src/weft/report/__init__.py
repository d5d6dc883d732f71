"""One self-contained HTML page about finished runs: verdict first, evidence behind it."""
