#!/usr/bin/env bash
# An operator at two nodes over memif, whose views are external: `bowline ctl` installs views, excludes, readmits,
# rotates, closes, forgets, shows what there is, and stops; the nodes say what becomes of it.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/nodes.sh"
need_bowline

# ctl a|b COMMAND…: its output goes to $work/ctl.out, and it must succeed.
ctl() {
    local node=$1
    shift
    "$BOWLINE" ctl --socket "$work/$node.sock" "$@" >"$work/ctl.out" 2>"$work/ctl.err" ||
        fail "bowline ctl ($node) $* ended with status $?: $(cat "$work/ctl.err")"
}

# refused STATUS WORDS a|b COMMAND…
refused() {
    local expected=$1 words=$2 node=$3 status=0
    shift 3
    "$BOWLINE" ctl --socket "$work/$node.sock" "$@" >"$work/ctl.out" 2>"$work/ctl.err" || status=$?
    ((status == expected)) || fail "bowline ctl ($node) $* ended with status $status, expected $expected"
    grep -Eqi -- "$words" "$work/ctl.err" || fail "bowline ctl ($node) $* says: $(cat "$work/ctl.err")"
}

# field a|b COMMAND EXPRESSION: of the answer's JSON, as Python sees it (`answer` is the object).
field() {
    ctl "$1" --json "$2"
    python3 -c 'import json, sys; answer = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$work/ctl.out" "$3"
}

# is_field VALUE a|b COMMAND EXPRESSION
is_field() {
    [[ $(field "$2" "$3" "$4") == "$1" ]]
}

# said NAME N REGEX: whether the process has written N lines or more like this.
said() {
    (($(grep -Ecs -- "$3" "$work/$1.out") >= $2))
}

start b on_memif b node -o views=external
start a on_memif a node -o views=external
wait_for 20 "both sockets" test -S "$work/a.sock" -a -S "$work/b.sock"
[[ $(stat -c %a "$work/a.sock") == 600 ]] || fail "the control socket has mode $(stat -c %a "$work/a.sock"), expected 600"

step "before the first view nobody is in view"
is_field 0 a view 'len(answer["view"]["members"])' || fail "a member before any view: $(cat "$work/ctl.out")"
is_field external a view 'answer["view"]["views"]' || fail "not external: $(cat "$work/ctl.out")"

step "install-view: both nodes, at both ends; the peers come up"
ctl a install-view a b
grep -q '^view [1-9]' "$work/ctl.out" || fail "install-view does not print the view: $(cat "$work/ctl.out")"
ctl b install-view b a
wait_for 20 "a to say that its view is in force" said a 1 'view [0-9]+ is in force: a, b'
wait_for 20 "b to be up at a" said a 1 "peer 'b' is up"
wait_for 20 "a to be up at b" said b 1 "peer 'a' is up"
is_field True a peers 'answer["peers"][0]["up"] and answer["peers"][0]["in_view"]' || fail "peers: $(cat "$work/ctl.out")"
[[ $(field a view 'answer["view"]["members"][0]["incarnation"]') == "$(field b view 'answer["view"]["self"]["incarnation"]')" ]] ||
    fail "a has another incarnation for b than b itself"
ctl a peers
grep -Eq '^PEER +ADDRESS' "$work/ctl.out" || fail "no table of peers: $(cat "$work/ctl.out")"
grep -Eq "^b +$address_b +yes +yes" "$work/ctl.out" || fail "b is not in the table: $(cat "$work/ctl.out")"

step "exclude: peer_down (excluded) here; readmission: up again"
ctl a exclude b
wait_for 20 "b to be down at a" said a 1 "peer 'b' is down: it is not in the view"
is_field 0 a view 'len(answer["view"]["members"])' || fail "b is still a member: $(cat "$work/ctl.out")"
is_field True a peers 'answer["peers"][0]["associated"]' || fail "exclusion ended the association: $(cat "$work/ctl.out")"
ctl a install-view b
wait_for 20 "b to be up again at a" said a 2 "peer 'b' is up"

step "rotate: the next conn-id"
before=$(field a connections 'answer["connections"][0]["send"]["conn_id"]')
ctl a rotate b
wait_for 20 "conn-id $((before + 1))" is_field $((before + 1)) a connections 'answer["connections"][0]["send"]["conn_id"]'

step "close: the connections close, the peers stay up"
ctl a close b
wait_for 20 "a's connection to be closed" is_field closed a connections 'answer["connections"][0]["send"]["state"]'
is_field True a peers 'answer["peers"][0]["up"]' || fail "closing took the peer down: $(cat "$work/ctl.out")"
ctl a connections
grep -Eq '^b +closed' "$work/ctl.out" || fail "connections: $(cat "$work/ctl.out")"

step "counters, and what they count from a reset on"
(($(field a counters 'answer["counters"]["rx_packets"]') > 0)) || fail "no packet counted: $(cat "$work/ctl.out")"
(($(field a counters 'answer["counters"]["rotations"]') >= 1)) || fail "no rotation counted: $(cat "$work/ctl.out")"
ctl a counters --reset
grep -Eq '^rotations +[1-9]' "$work/ctl.out" || fail "counters: $(cat "$work/ctl.out")"
is_field 0 a counters 'answer["counters"]["rotations"]' || fail "rotations after a reset: $(cat "$work/ctl.out")"

step "forget: the association is made anew"
before=$(field a counters 'answer["counters"]["control_associations"]')
ctl a forget b
more_associations() {
    (($(field a counters 'answer["counters"]["control_associations"]') > before))
}
wait_for 20 "another association" more_associations
wait_for 20 "b to be up at a" is_field True a peers 'answer["peers"][0]["up"]'

step "what is wrong is said, with the right exit status"
refused 2 "no peer 'x' is configured.*there is: b" a rotate x
refused 2 "no peer 'x' is configured.*there is: b" a install-view b x
refused 2 "named twice" a install-view b b
refused 1 "no node listens here" nobody peers
"$BOWLINE" ctl --socket "$work/a.sock" >/dev/null 2>&1 && fail "no command, and no error"
b_is "memif:$work/other.sock,role=server"
status=0
"$BOWLINE" node "${node_options[@]}" >"$work/second.out" 2>"$work/second.err" || status=$?
((status == 1)) || fail "a second node at b's control socket ended with status $status, expected 1"
says second "$work/b.sock: another process listens here" || fail "the second node says: $(cat "$work/second.err")"
python3 - "$work/a.sock" <<'PY' || fail "a does not withstand bad requests"
import json, socket, sys
for request in (b"\n", b"{}\n", b"\xff\xfe\n", b"[" * 1000 + b"\n", b'{"command":"rotate","peer":7}\n', b"x" * 70000):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(10)
        s.connect(sys.argv[1])
        s.sendall(request)
        answer = json.loads(s.makefile().readline())
        assert answer["ok"] is False and answer["error"], answer
PY

step "kill -9, and the same node again at the same socket"
kill_hard b
start b on_memif b node -o views=external
wait_for 20 "b to start" said b 1 'has started'
is_field 0 b view 'answer["view"]["id"]' || fail "a new process has an old view: $(cat "$work/ctl.out")"

step "stop: in order"
ctl b stop
finish_ok b 20
ctl a stop
finish_ok a 20
says a "'a' has stopped" || fail "a did not stop in order"
[[ ! -e $work/a.sock && ! -e $work/b.sock ]] || fail "a control socket is left behind"

step "a closed connection leaves a tombstone, by which the next one goes on"
mkfifo "$work/pipe"
start b on_memif b cat --from a --lines
input=$work/pipe start a on_memif a cat --to b --lines
exec 3>"$work/pipe"
printf 'one\n' >&3
wait_for 20 "the first line" lines_in "$work/b.out" 1
is_field open b connections 'answer["connections"][0]["receive"]["state"]' || fail "not open: $(cat "$work/ctl.out")"
first=$(field b connections 'answer["connections"][0]["receive"]["conn_id"]')
ctl a close b
wait_for 20 "the tombstone" is_field tombstone b connections 'answer["connections"][0]["receive"]["state"]'
printf 'two\n' >&3
wait_for 20 "the second line" lines_in "$work/b.out" 2
is_field $((first + 1)) b connections 'answer["connections"][0]["receive"]["conn_id"]' ||
    fail "the conn-id after $first is another: $(cat "$work/ctl.out")"
exec 3>&-
finish_ok a 20
finish_ok b 20
[[ $(cat "$work/b.out") == $'one\ntwo' ]] || fail "b got: $(cat "$work/b.out")"

step "pings go on while their connections are rotated and closed: none is lost, none comes twice"
start b on_memif b echo
start a on_memif a ping b --time 4s --rate 2000 --json
wait_for 20 "both sockets" test -S "$work/a.sock" -a -S "$work/b.sock"
wait_for 20 "pings" is_field True a connections 'answer["connections"][0]["send"]["acknowledged_message"] > 100'
before=$(field a connections 'answer["connections"][0]["send"]["conn_id"]')
for word in "a rotate b" "b rotate a" "b close a" "a close b" "a rotate b"; do
    read -ra words <<<"$word"
    ctl "${words[@]}"
done
wait_for 20 "later conn-ids" is_field True a connections "answer['connections'][0]['send']['conn_id'] >= $before + 2"
finish_ok a 30
(($(figure a count) > 4000)) || fail "only $(figure a count) answers"
ctl b stop
finish_ok b 20
