#!/usr/bin/env bash
# Every kind of wrong command line, configuration and device: the exit status is right and the message names the
# offender and what to do.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/nodes.sh"
source "$source_root/tools/tasks/hugepages.sh"
need_bowline

failures=0
cases=0

# expect STATUS WORDS COMMAND…: its exit status, within bounded time, and on standard error each of the words (regular
# expressions, separated by "; "). All cases run; the script fails at the end.
expect() {
    local expected=$1 patterns=$2 status=0 pattern wrong=''
    shift 2
    cases=$((cases + 1))
    timeout --kill-after=5 20 "$@" </dev/null >"$work/case.out" 2>"$work/case.err" || status=$?
    ((status == expected)) || wrong+="  exit status $status, expected $expected"$'\n'
    while [[ -n $patterns ]]; do
        pattern=${patterns%%; *}
        [[ $patterns == *"; "* ]] && patterns=${patterns#*; } || patterns=''
        grep -Eqi -- "$pattern" "$work/case.err" || wrong+="  standard error does not say /$pattern/"$'\n'
    done
    if [[ -n $wrong ]]; then
        failures=$((failures + 1))
        printf 'not as expected: %s\n%s' "$*" "$wrong"
        sed 's/^/  | /' "$work/case.err"
    fi
}

# config TEXT: writes it to a file of its own; $config is its path.
config() {
    config=$work/case.toml
    printf '%s\n' "$1" >"$config"
}

a_is "memif:$work/unused.sock,role=server"
good=("${node_options[@]}")
good_toml="name = \"a\"
device = \"null\"
address = \"$address_a/24\"
[[peer]]
name = \"b\"
address = \"$address_b\""

step "command lines"
expect 2 'subcommand|--help' "$BOWLINE"
expect 2 'frobnicate; --help' "$BOWLINE" frobnicate
expect 2 '--frobnicate' "$BOWLINE" node "${good[@]}" --frobnicate
expect 2 'name' "$BOWLINE" node --device null --address "$address_a/24"
expect 2 'device.*missing; af_packet' "$BOWLINE" node --name a --address "$address_a/24"
expect 2 'address' "$BOWLINE" node --name a --device null
expect 2 '--to|--from' "$BOWLINE" cat "${good[@]}"
expect 2 '--to|--from' "$BOWLINE" cat "${good[@]}" --to b --from b
expect 2 'size' "$BOWLINE" cat "${good[@]}" --to b --size 0
expect 2 'size' "$BOWLINE" cat "${good[@]}" --to b --size banana
expect 2 'size; message_max' "$BOWLINE" ping "${good[@]}" b --size 1GiB
expect 2 'count' "$BOWLINE" ping "${good[@]}" b --count -3
expect 2 'time' "$BOWLINE" flood "${good[@]}" b --time yesterday
expect 2 'nobody; peer' "$BOWLINE" ping "${good[@]}" nobody
expect 2 'nobody; peer' "$BOWLINE" cat "${good[@]}" --to nobody
expect 0 '' "$BOWLINE" --help
for subcommand in cat echo ping sink flood node ctl devices; do
    expect 0 '' "$BOWLINE" "$subcommand" --help
    [[ -s $work/case.out ]] || fail "bowline $subcommand --help prints nothing"
done

step "asking a node that is not there"
expect 2 'subcommand|command' "$BOWLINE" ctl
expect 2 'frobnicate' "$BOWLINE" ctl frobnicate
expect 2 'NAME|peer' "$BOWLINE" ctl rotate
expect 2 'excludes' "$BOWLINE" ctl --name a --socket "$work/a.sock" peers
expect 1 'nowhere.sock; no node listens here' "$BOWLINE" ctl --socket "$work/nowhere.sock" peers
expect 2 'control_socket; auto; path' "$BOWLINE" node "${good[@]}" -o control_socket=somewhere
expect 1 'nowhere/a.sock|nowhere; folder' "$BOWLINE" node "${good[@]}" -o control_socket="$work/nowhere/a.sock"

step "configuration on the command line"
expect 2 'windoww; window' "$BOWLINE" node "${good[@]}" -o windoww=64
expect 2 'window; power of two' "$BOWLINE" node "${good[@]}" -o window=3
expect 2 'ack_delay; duration|unit' "$BOWLINE" node "${good[@]}" -o ack_delay=5
expect 2 'mode; inline' "$BOWLINE" node "${good[@]}" -o mode=sometimes
expect 2 'port; 65535' "$BOWLINE" node "${good[@]}" -o port=70000
expect 2 'window' "$BOWLINE" node "${good[@]}" -o window
for address in 10.0.0.256/24 10.0.0.1 10.0.0.1/33 127.0.0.1/8 224.0.0.1/4 hello; do
    expect 2 "address; $address" "$BOWLINE" node --name a --device null --address "$address" --peer "b=$address_b"
done
expect 2 'peer' "$BOWLINE" node --name a --device null --address "$address_a/24" --peer b
expect 2 'peer; 10.77.0' "$BOWLINE" node --name a --device null --address "$address_a/24" --peer b=10.77.0
expect 2 'peer; twice|already|same' "$BOWLINE" node "${good[@]}" --peer "b=10.77.0.3"
expect 2 'name' "$BOWLINE" node --name "two words" --device null --address "$address_a/24"

step "configuration files: file, line and key"
expect 2 'dev/zero; regular file' "$BOWLINE" node --config /dev/zero
expect 2 'nowhere.toml' "$BOWLINE" node --config "$work/nowhere.toml"
config "name = \"a"
expect 2 'case.toml:1' "$BOWLINE" node --config "$config"
config "$good_toml"$'\n[[peer'
expect 2 'case.toml:7' "$BOWLINE" node --config "$config"
config "windoww = 64"$'\n'"$good_toml"
expect 2 'case.toml:1; windoww; window' "$BOWLINE" node --config "$config"
config "window = \"many\""$'\n'"$good_toml"
expect 2 'case.toml:1; window' "$BOWLINE" node --config "$config"
config "$good_toml"$'\ncolour = "red"'
expect 2 'case.toml:7; colour' "$BOWLINE" node --config "$config"
head -c 4096 /dev/zero >"$work/zeros.toml"
expect 2 'zeros.toml' "$BOWLINE" node --config "$work/zeros.toml"
expect 2 "$work" "$BOWLINE" node --config "$work"

step "devices"
expect 2 'warp:9; memif|bowline devices' "$BOWLINE" node --name a --device warp:9 --address "$address_a/24"
expect 2 'memif|nowhere' "$BOWLINE" node --name a --device "memif:$work/nowhere/x.sock,role=server" --address "$address_a/24"
expect 2 'role; client|server' "$BOWLINE" node --name a --device "memif:$work/x.sock,role=boss" --address "$address_a/24"
expect 2 'nosuchif0; bowline devices|ip link|there are' "$BOWLINE" node --name a --device af_packet:nosuchif0 --address "$address_a/24"
expect 2 '0000:ff:1f.7; bowline devices|bind' "$BOWLINE" node --name a --device pci:0000:ff:1f.7 --address "$address_a/24"

step "a device that another engine has"
start owner on_memif b node
wait_for 20 "the first engine's socket" test -S "$work/memif.sock"
b_is "memif:$work/memif.sock,role=server"
expect 1 'memif.sock; in use|busy|another' "$BOWLINE" node "${node_options[@]}" -o control_socket=none
expect 1 'b.sock; another process listens here' "$BOWLINE" node "${node_options[@]}"
running owner || fail "a second engine on its device ended the first"
kill -TERM "${pids[owner]}"
finish_ok owner 10

step "no hugepages, and no privilege"
if ((EUID == 0)) && [[ -d $hugepages_pool ]]; then
    hugepages_save
    on_exit hugepages_restore
    printf '0\n' >"$hugepages_pool/nr_hugepages"
fi
expect 1 'huge ?pages; hugepage-setup' "$BOWLINE" node "${good[@]}" -o hugepages=on
if ((EUID == 0)); then
    # Copies, for nobody may be unable to enter the folder that this tree lies in.
    install -m 755 "$BOWLINE" "$work/bowline"
    chmod 755 "$work"
    expect 1 'af_packet|lo; root|CAP_NET_RAW' setpriv --reuid=65534 --regid=65534 --clear-groups \
        "$work/bowline" node --name a --device af_packet:lo --address "$address_a/24"
else
    expect 1 'af_packet|lo; root|CAP_NET_RAW' "$BOWLINE" node --name a --device af_packet:lo --address "$address_a/24"
fi

((failures == 0)) || fail "$failures of $cases cases"
step "$cases cases"
