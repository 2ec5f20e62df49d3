# `just` alone lists the recipes. Everything that CI runs is here too; see ci/.

_list:
    @just --list --unsorted

# Builds the programs that the tests debug, into test-targets/build.
targets:
    test-targets/build.sh
