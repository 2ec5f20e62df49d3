#!/bin/sh
# Makes files that are not, or not quite, programs: test-targets/bad.sh OUT, after OUT/loop was built. They go to OUT/bad.
#
# The first group must be refused by spawn() with one clear line each; the second runs, with something broken that
# the debugger reads.
set -eu

out=$1
bad=$out/bad
if [ -e "$bad/.made" ] && [ -z "$(find "$0" "$out/loop" -newer "$bad/.made")" ]; then
  exit 0
fi
rm -rf "$bad"
mkdir -p "$bad"

# The first 20 bytes of an ELF header: CLASS (1: 32 bit, 2: 64 bit) and MACHINE (low byte of e_machine), e_type ET_EXEC.
# Twice printf: the first makes the octal escapes that the second turns into bytes.
header() {
  # shellcheck disable=SC2059
  printf "$(printf '\\177ELF\\%03o\\001\\001\\000\\000\\000\\000\\000\\000\\000\\000\\000\\002\\000\\%03o\\000' "$1" "$2")"
}
zeros() { head -c "$1" /dev/zero; }
# Overwrites bytes of a file in place: patch FILE OFFSET < BYTES.
patch() { dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }

# Refused.
: > "$bad/empty"
echo 'just some text' > "$bad/text"
{ header 1 3; zeros 200; } > "$bad/elf32"             # EM_386
{ header 2 183; zeros 200; } > "$bad/aarch64"         # EM_AARCH64
{ header 2 62; printf 'garbage after the header%.0s' 1 2 3 4 5 6 7 8; } > "$bad/garbage"
head -c 40 "$out/loop" > "$bad/truncated"
printf '#!/no/such/interpreter\nhello\n' > "$bad/script-no-interpreter"
sed 's|/lib64/ld-linux-x86-64\.so\.2|/lib64/no-linux-x86-64.so.2|' "$out/loop" > "$bad/no-loader"
chmod 755 "$bad"/*
cp "$out/loop" "$bad/not-executable" && chmod 644 "$bad/not-executable"
cp "$out/loop" "$bad/no-permission" && chmod 000 "$bad/no-permission"
mkdir "$bad/directory"
mkfifo "$bad/fifo" && chmod 755 "$bad/fifo"
ln -s no-such-file "$bad/dangling"
ln -s cycle "$bad/cycle"

# Runs, but lies: section headers past the end of the file; debug information, line tables and unwind tables of
# garbage; symbols whose names and sizes are garbage.
section() { # SECTION: its file offset and size, in decimal
  readelf -SW "$out/loop" | sed -n "s/^ *\[ *[0-9]*\] $1  *[A-Z_]*  *[0-9a-f]* \([0-9a-f]*\) \([0-9a-f]*\) .*/0x\1 0x\2/p"
}
garbage_in() { # NAME SECTION: a copy of loop with that section overwritten
  cp "$out/loop" "$bad/$1"
  section "$2" | {
    read -r offset size
    yes "$(printf '\377\125\252\001lie')" | head -c "$((size))" | patch "$bad/$1" "$((offset))"
  }
}
cp "$out/loop" "$bad/section-table-lies"
printf '\377\377\377\377\377\377\377\177' | patch "$bad/section-table-lies" 40 # e_shoff
garbage_in debug-info-garbage '\.debug_info'
garbage_in debug-abbrev-garbage '\.debug_abbrev'
garbage_in debug-line-garbage '\.debug_line'
garbage_in eh-frame-garbage '\.eh_frame'
garbage_in symtab-garbage '\.symtab'
garbage_in strtab-garbage '\.strtab'
: > "$bad/.made"
