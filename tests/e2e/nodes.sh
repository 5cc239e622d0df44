# shellcheck shell=bash disable=SC2154 # work and net come from lib.sh and netns.sh
# The two nodes that nearly every scenario has: a (10.77.0.1) and b (10.77.0.2). Sourced after lib.sh (and netns.sh).

address_a=10.77.0.1
address_b=10.77.0.2

# What a subcommand needs to be node a or b over a medium. `bowline ctl --socket $work/a.sock` reaches it.
a_is() {
    node_options=(--name a --address "$address_a/24" --peer "b=$address_b" --device "$1" -o "control_socket=$work/a.sock")
}
b_is() {
    node_options=(--name b --address "$address_b/24" --peer "a=$address_a" --device "$1" -o "control_socket=$work/b.sock")
}

# on_memif a|b SUBCOMMAND ARGUMENTS…: this node over a memif socket in $work; b is the server.
on_memif() {
    local node=$1 subcommand=$2 node_options
    shift 2
    if [[ $node == a ]]; then
        a_is "memif:$work/memif.sock,role=client"
    else
        b_is "memif:$work/memif.sock,role=server"
    fi
    exec env --default-signal=INT "$BOWLINE" "$subcommand" "${node_options[@]}" "$@"
}

# on_veth a|b SUBCOMMAND ARGUMENTS…: this node in its namespace.
on_veth() {
    local node=$1 subcommand=$2 node_options
    shift 2
    "${node}_is" af_packet:eth0
    exec ip netns exec "$net-$node" env --default-signal=INT "$BOWLINE" "$subcommand" "${node_options[@]}" "$@"
}

# transfer MEDIUM FILE SECONDS [OPTIONS…]: cat from a to b; both must succeed and the file arrive as it is. Processes
# are named `sender` and `receiver`; their statistics stay readable with `figure`.
transfer() {
    local medium=$1 file=$2 seconds=$3
    shift 3
    start receiver "$medium" b cat --from a --json "$@"
    input=$file start sender "$medium" a cat --to b --json "$@"
    finish_ok sender "$seconds"
    finish_ok receiver 10
    same_file "$file" "$work/receiver.out"
}
