-- Wireshark dissector of the Bowline protocol, version 1. What the fields mean is in docs/PROTOCOL.md, whose words and
-- sections are used here.
--
--   tshark -X lua_script:bowline.lua -r capture.pcapng -Y bowline
--
-- What needs more than the packet itself (gaps, retransmissions, rotations, stale acks, message numbers) is found out
-- when a packet is seen for the first time, which is in the order of the capture, and kept by the packet's number: later
-- looks at it, in any order, show the same.

local bowline = Proto("bowline", "Bowline")

-- — fields —

local types = {
    [1] = "HELLO", [2] = "HELLO_ACK", [3] = "HELLO_DONE", [4] = "DATA", [5] = "ACK",
    [6] = "NEED_FIRST", [7] = "CLOSE", [8] = "PROBE", [9] = "HEARTBEAT", [10] = "RESET",
}
local HELLO, HELLO_ACK, HELLO_DONE, DATA, ACK, NEED_FIRST, CLOSE, PROBE, HEARTBEAT, RESET = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
local frame_kinds = { [0] = "whole", [1] = "first", [2] = "middle", [3] = "last" }
local WHOLE, FIRST_FRAGMENT, MIDDLE, LAST = 0, 1, 2, 3
local close_reasons = { [1] = "idle", [2] = "orderly stop", [3] = "excluded" }

local F_ACK, F_FIRST, F_SACK, F_ECHO, F_DRAINED, F_BOUNDARY = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20

-- Which flags each type may carry (§2).
local flags_of = {
    [HELLO] = F_ECHO,
    [HELLO_ACK] = F_ECHO,
    [HELLO_DONE] = F_ACK + F_ECHO + F_DRAINED,
    [DATA] = F_ACK + F_ECHO + F_FIRST + F_BOUNDARY,
    [ACK] = F_ACK + F_ECHO + F_DRAINED + F_FIRST + F_SACK,
    [NEED_FIRST] = F_ACK + F_ECHO + F_DRAINED,
    [CLOSE] = F_ACK + F_ECHO + F_DRAINED,
    [PROBE] = F_ACK + F_ECHO + F_DRAINED + F_FIRST,
    [HEARTBEAT] = F_ACK + F_ECHO + F_DRAINED + F_FIRST,
    [RESET] = F_ECHO,
}

local HEADER_BYTES, FIRST_BYTES, SACK_FIXED_BYTES, HELLO_FIXED_BYTES = 36, 16, 4, 98

local f = {
    magic = ProtoField.uint8("bowline.magic", "Magic", base.HEX, nil, 0xF0),
    version = ProtoField.uint8("bowline.version", "Version", base.DEC, nil, 0x0F),
    type = ProtoField.uint8("bowline.type", "Type", base.DEC, types),
    slot = ProtoField.uint16("bowline.slot", "Slot", base.DEC),
    tag = ProtoField.uint32("bowline.tag", "Tag", base.HEX),
    conn_id = ProtoField.uint32("bowline.conn_id", "Connection", base.DEC),
    seqno = ProtoField.uint32("bowline.seqno", "Seqno", base.DEC),
    ack_conn_id = ProtoField.uint32("bowline.ack_conn_id", "Acknowledged connection", base.DEC),
    cum_ack = ProtoField.uint32("bowline.cum_ack", "Cumulative ack", base.DEC),
    timestamp = ProtoField.uint32("bowline.timestamp", "Timestamp (256 ns)", base.DEC),
    echo = ProtoField.uint32("bowline.echo", "Echo (256 ns)", base.DEC),
    window = ProtoField.uint16("bowline.window", "Window (packets)", base.DEC),
    flags = ProtoField.uint8("bowline.flags", "Flags", base.HEX),
    flag_ack = ProtoField.bool("bowline.flags.ack", "ACK", 8, nil, F_ACK),
    flag_first = ProtoField.bool("bowline.flags.first", "FIRST", 8, nil, F_FIRST),
    flag_sack = ProtoField.bool("bowline.flags.sack", "SACK", 8, nil, F_SACK),
    flag_echo = ProtoField.bool("bowline.flags.echo", "ECHO", 8, nil, F_ECHO),
    flag_drained = ProtoField.bool("bowline.flags.drained", "DRAINED", 8, nil, F_DRAINED),
    flag_boundary = ProtoField.bool("bowline.flags.boundary", "BOUNDARY", 8, nil, F_BOUNDARY),
    ack_delay = ProtoField.uint8("bowline.ack_delay", "Ack delay (1.024 us)", base.DEC),

    first = ProtoField.none("bowline.first", "FIRST: where the connection begins"),
    first_seqno = ProtoField.uint64("bowline.first.seqno", "First seqno", base.DEC),
    first_message = ProtoField.uint64("bowline.first.message", "First message", base.DEC),

    sack = ProtoField.none("bowline.sack", "SACK: what is held out of order"),
    sack_words = ProtoField.uint16("bowline.sack.words", "Words", base.DEC),
    sack_reserved = ProtoField.uint16("bowline.sack.reserved", "Reserved", base.DEC),
    sack_word = ProtoField.uint64("bowline.sack.word", "Word", base.HEX),
    sack_range = ProtoField.string("bowline.sack.range", "Held"),
    sack_begin = ProtoField.uint32("bowline.sack.range.begin", "First held", base.DEC),
    sack_end = ProtoField.uint32("bowline.sack.range.end", "Last held", base.DEC),
    sack_held = ProtoField.uint32("bowline.sack.held", "Packets held", base.DEC),

    frame = ProtoField.none("bowline.frame", "Frame"),
    frame_kind = ProtoField.uint16("bowline.frame.kind", "Kind", base.DEC, frame_kinds, 0xC000),
    frame_length = ProtoField.uint16("bowline.frame.length", "Length", base.DEC, nil, 0x3FFF),
    frame_total = ProtoField.uint32("bowline.frame.total", "Length of the whole message", base.DEC),
    frame_data = ProtoField.bytes("bowline.frame.data", "Bytes"),
    frame_message = ProtoField.uint64("bowline.frame.message", "Message number", base.DEC),

    features = ProtoField.uint32("bowline.hello.features", "Features", base.HEX),
    feature_ack_delay = ProtoField.bool("bowline.hello.features.ack_delay", "Takes an ack delay", 32, nil, 1),
    hello_reserved = ProtoField.uint32("bowline.hello.reserved", "Reserved", base.HEX),
    incarnation = ProtoField.uint64("bowline.hello.incarnation", "Incarnation", base.HEX),
    nonce = ProtoField.uint64("bowline.nonce", "Nonce", base.HEX),
    echo_nonce = ProtoField.uint64("bowline.echo_nonce", "Echoed nonce", base.HEX),
    hello_tag = ProtoField.uint32("bowline.hello.tag", "Tag towards the greeter", base.HEX),
    hello_slot = ProtoField.uint16("bowline.hello.slot", "Slot towards the greeter", base.DEC),
    max_packet = ProtoField.uint16("bowline.hello.max_packet", "Largest UDP payload", base.DEC),
    hello_window = ProtoField.uint32("bowline.hello.window", "Window (packets)", base.DEC),
    ack_delay_us = ProtoField.uint32("bowline.hello.ack_delay_us", "Longest ack delay (us)", base.DEC),
    stream_id = ProtoField.uint64("bowline.hello.stream_id", "Stream", base.HEX),
    memory_incarnation = ProtoField.uint64("bowline.hello.memory_incarnation", "Remembered incarnation", base.HEX),
    memory_stream_id = ProtoField.uint64("bowline.hello.memory_stream_id", "Remembered stream", base.HEX),
    memory_rcv_nxt = ProtoField.uint64("bowline.hello.memory_rcv_nxt", "Remembered rcv_nxt", base.DEC),
    message_max = ProtoField.uint32("bowline.hello.message_max", "Longest message", base.DEC),
    memory_flags = ProtoField.uint32("bowline.hello.memory_flags", "Memory flags", base.HEX),
    memory_valid = ProtoField.bool("bowline.hello.memory_flags.valid", "Memory is valid", 32, nil, 1),
    memory_dropped = ProtoField.bool("bowline.hello.memory_flags.dropped", "A memory was dropped, its end unknown", 32, nil, 2),
    from_len = ProtoField.uint8("bowline.hello.from_len", "Length of the greeter's name", base.DEC),
    to_len = ProtoField.uint8("bowline.hello.to_len", "Length of the greeted's name", base.DEC),
    from = ProtoField.string("bowline.hello.from", "From"),
    to = ProtoField.string("bowline.hello.to", "To"),

    rcv_nxt = ProtoField.uint64("bowline.rcv_nxt", "rcv_nxt", base.DEC),
    close_reason = ProtoField.uint32("bowline.close.reason", "Reason", base.DEC, close_reasons),
    next_message = ProtoField.uint64("bowline.close.next_message", "Next message", base.DEC),

    retransmission_of = ProtoField.framenum("bowline.analysis.retransmission_of", "First sent in"),
    missing = ProtoField.uint32("bowline.analysis.missing", "Packets missing before this one", base.DEC),
    malformed_kind = ProtoField.string("bowline.malformed.kind", "Malformed"),
}
for _, field in pairs(f) do
    bowline.fields[#bowline.fields + 1] = field
end

-- — expert infos —

local e = {
    malformed = ProtoExpert.new("bowline.malformed", "Malformed: a receiver drops it", expert.group.MALFORMED,
        expert.severity.ERROR),
    cut_short = ProtoExpert.new("bowline.cut_short", "The capture does not have the whole packet", expert.group.UNDECODED,
        expert.severity.NOTE),
    bad_checksum = ProtoExpert.new("bowline.bad_checksum", "Bad UDP checksum: a receiver that demands one drops it",
        expert.group.CHECKSUM, expert.severity.ERROR),
    stale_ack = ProtoExpert.new("bowline.stale_ack", "Stale ack: without effect", expert.group.SEQUENCE,
        expert.severity.WARN),
    stale_connection = ProtoExpert.new("bowline.stale_connection", "Of an earlier connection", expert.group.SEQUENCE,
        expert.severity.WARN),
    stale_association = ProtoExpert.new("bowline.stale_association", "Of an earlier association", expert.group.SEQUENCE,
        expert.severity.WARN),
    ack_of_unseen = ProtoExpert.new("bowline.ack_of_unseen", "Acknowledges what the capture does not have",
        expert.group.SEQUENCE, expert.severity.WARN),
    gap = ProtoExpert.new("bowline.gap", "Gap: packets before this one are missing", expert.group.SEQUENCE,
        expert.severity.WARN),
    sack_gap = ProtoExpert.new("bowline.sack_gap", "The receiver lacks packets", expert.group.SEQUENCE,
        expert.severity.NOTE),
    retransmission = ProtoExpert.new("bowline.retransmission", "Retransmission", expert.group.SEQUENCE,
        expert.severity.NOTE),
    out_of_order = ProtoExpert.new("bowline.out_of_order", "Late: fills a gap", expert.group.SEQUENCE,
        expert.severity.NOTE),
    rotation = ProtoExpert.new("bowline.rotation", "Rotation: a new connection of the same association",
        expert.group.SEQUENCE, expert.severity.CHAT),
    association = ProtoExpert.new("bowline.association", "A new association", expert.group.SEQUENCE,
        expert.severity.CHAT),
    closed_window = ProtoExpert.new("bowline.closed_window", "The window is closed", expert.group.SEQUENCE,
        expert.severity.NOTE),
    need_first = ProtoExpert.new("bowline.need_first", "No window for this connection: asks for its first seqno",
        expert.group.SEQUENCE, expert.severity.NOTE),
    close = ProtoExpert.new("bowline.close", "Close", expert.group.SEQUENCE, expert.severity.CHAT),
    reset = ProtoExpert.new("bowline.reset", "Unknown tag: the association is not known here", expert.group.SEQUENCE,
        expert.severity.WARN),
}
for _, info in pairs(e) do
    bowline.experts[#bowline.experts + 1] = info
end

bowline.prefs.ports = Pref.range("UDP ports", "7727", "The ports on which Bowline is looked for", 65535)

-- Wireshark verifies UDP checksums if it is asked to (preference udp.check_checksum).
local udp_checksum_status = Field.new("udp.checksum.status")
local CHECKSUM_BAD = 0

-- — numbers that wrap (RFC 1982) —

local function add32(a, b)
    return (a + b) % 0x100000000
end
-- How far a lies behind b: negative when before.
local function distance(a, b)
    return (a - b + 0x80000000) % 0x100000000 - 0x80000000
end

-- — what is known of the conversations: filled in the first pass —

local directions -- "source > destination" -> direction
local findings   -- number of a packet -> what was found out about it

local function direction_of(from, from_port, to, to_port)
    local key = tostring(from) .. ":" .. from_port .. " > " .. tostring(to) .. ":" .. to_port
    local direction = directions[key]
    if not direction then
        direction = { tag = nil, old_tags = {}, connection = nil }
        directions[key] = direction
    end
    return direction
end

local function new_connection(id)
    -- sent: seqno -> { packet in which it was first seen, how many messages end in it, or nil }; what is acknowledged is dropped
    return { id = id, nxt = nil, una = nil, sent = {}, message_at = {} }
end

-- Numbers the messages of packet `seqno`, if it is known with which one it begins, and those of its successors.
local function number_messages(connection, seqno)
    local number = connection.message_at[seqno]
    while number and connection.sent[seqno] do
        number = number + connection.sent[seqno].messages
        seqno = add32(seqno, 1)
        connection.message_at[seqno] = number
    end
end

local function acknowledge(connection, cum_ack)
    -- A capture that begins in the middle does not know how far back there is something to drop.
    if connection.una then
        local seqno = connection.una
        while distance(seqno, cum_ack) < 0 and distance(seqno, connection.nxt) < 0 do
            connection.sent[seqno] = nil
            connection.message_at[seqno] = nil
            seqno = add32(seqno, 1)
        end
    end
    connection.una = cum_ack
end

local function on_data(connection, packet, number, found)
    local seqno = packet.seqno
    if packet.first_seqno32 then
        connection.first = connection.first or packet.first_seqno32
        connection.una = connection.una or packet.first_seqno32
        connection.nxt = connection.nxt or packet.first_seqno32
        if not connection.message_at[packet.first_seqno32] and distance(packet.first_seqno32, connection.una) >= 0 then
            connection.message_at[packet.first_seqno32] = packet.first_message
        end
    end
    local ahead = connection.nxt and distance(seqno, connection.nxt) or 0
    local before = connection.sent[seqno]
    if before then
        found.retransmission_of = before.packet
    elseif connection.una and distance(seqno, connection.una) < 0 then
        found.acknowledged_already = true
    elseif ahead < 0 then
        found.fills_gap = true
    elseif ahead > 0 then
        found.missing = ahead
    end
    if not before and not found.acknowledged_already then
        connection.sent[seqno] = { packet = number, messages = packet.messages_ended }
    end
    found.message = connection.message_at[seqno]
    number_messages(connection, seqno)
    if ahead >= 0 then
        connection.nxt = add32(seqno, 1)
    end
end

local function on_ack(reverse, packet, found)
    local connection = reverse.connection
    if not connection then
        return
    end
    if packet.ack_conn_id ~= connection.id then
        if distance(packet.ack_conn_id, connection.id) < 0 then
            found.stale_ack = string.format("Stale ack: of connection %d, but %d is open", packet.ack_conn_id, connection.id)
        else
            found.ack_of_unseen = true
        end
        return
    end
    if connection.nxt and distance(packet.cum_ack, connection.nxt) > 0 then
        found.ack_of_unseen = true
    elseif connection.una and distance(packet.cum_ack, connection.una) < 0 then
        found.stale_ack = string.format("Stale ack: before %d, which is acknowledged already", connection.una)
        return
    end
    if not connection.nxt or distance(packet.cum_ack, connection.nxt) > 0 then
        connection.nxt = packet.cum_ack
    end
    acknowledge(connection, packet.cum_ack)
end

-- What a well-formed packet tells about its direction and the other one.
local function analyse(packet, pinfo)
    local found = {}
    if packet.type <= HELLO_DONE or packet.type == RESET then
        return found -- their header names no connection
    end
    local direction = direction_of(pinfo.src, pinfo.src_port, pinfo.dst, pinfo.dst_port)
    local reverse = direction_of(pinfo.dst, pinfo.dst_port, pinfo.src, pinfo.src_port)
    if packet.tag ~= direction.tag then
        if direction.old_tags[packet.tag] then
            found.stale_association = true
            return found
        end
        if direction.tag then
            direction.old_tags[direction.tag] = true
        end
        found.association = true
        direction.tag = packet.tag
        direction.connection = nil
    end
    if packet.type ~= NEED_FIRST and packet.type ~= CLOSE and packet.conn_id ~= 0 then
        local connection = direction.connection
        if not connection then
            direction.connection = new_connection(packet.conn_id)
        elseif distance(packet.conn_id, connection.id) > 0 then
            found.rotation = string.format("Rotation: connection %d follows %d", packet.conn_id, connection.id)
            direction.connection = new_connection(packet.conn_id)
        elseif packet.conn_id ~= connection.id then
            found.stale_connection = string.format("Of connection %d, but %d is open", packet.conn_id, connection.id)
        end
    end
    if not found.stale_connection and direction.connection then
        if packet.type == DATA then
            on_data(direction.connection, packet, pinfo.number, found)
        elseif packet.type == ACK or packet.type == PROBE or packet.type == HEARTBEAT then
            -- seqno is snd_nxt: what the capture has not seen of it is missing, but it may still come.
            direction.connection.nxt = direction.connection.nxt or packet.seqno
        end
    end
    if packet.has_ack then
        on_ack(reverse, packet, found)
    end
    return found
end

-- — dissection —

-- Ends the dissection of a packet: what is wrong, as §1.3 calls it, and why.
local function malformed(tree, range, kind, why)
    tree:add(f.malformed_kind, range, kind):set_generated()
    tree:add_proto_expert_info(e.malformed, string.format("Malformed (%s): %s", kind, why))
    return kind
end

local function flag(flags, bit)
    return math.floor(flags / bit) % 2 == 1
end

local function add_header(tvb, tree, packet)
    tree:add(f.magic, tvb(0, 1))
    tree:add(f.version, tvb(0, 1))
    tree:add(f.type, tvb(1, 1))
    tree:add_le(f.slot, tvb(2, 2))
    tree:add_le(f.tag, tvb(4, 4))
    tree:add_le(f.conn_id, tvb(8, 4))
    tree:add_le(f.seqno, tvb(12, 4))
    tree:add_le(f.ack_conn_id, tvb(16, 4))
    tree:add_le(f.cum_ack, tvb(20, 4))
    tree:add_le(f.timestamp, tvb(24, 4))
    tree:add_le(f.echo, tvb(28, 4))
    tree:add_le(f.window, tvb(32, 2))
    local flags = tree:add(f.flags, tvb(34, 1))
    local names = {}
    for _, known in ipairs({ "ack", "first", "sack", "echo", "drained", "boundary" }) do
        flags:add(f["flag_" .. known], tvb(34, 1))
    end
    for _, known in ipairs({ { F_ACK, "ACK" }, { F_FIRST, "FIRST" }, { F_SACK, "SACK" }, { F_ECHO, "ECHO" },
                             { F_DRAINED, "DRAINED" }, { F_BOUNDARY, "BOUNDARY" } }) do
        if flag(packet.flags, known[1]) then
            names[#names + 1] = known[2]
        end
    end
    if #names > 0 then
        flags:append_text(" (" .. table.concat(names, ", ") .. ")")
    end
    tree:add(f.ack_delay, tvb(35, 1))
end

local function read_header(tvb)
    local packet = {
        type = tvb(1, 1):uint(),
        tag = tvb(4, 4):le_uint(),
        conn_id = tvb(8, 4):le_uint(),
        seqno = tvb(12, 4):le_uint(),
        ack_conn_id = tvb(16, 4):le_uint(),
        cum_ack = tvb(20, 4):le_uint(),
        window = tvb(32, 2):le_uint(),
        flags = tvb(34, 1):uint(),
        ack_delay = tvb(35, 1):uint(),
    }
    packet.has_ack = flag(packet.flags, F_ACK)
    return packet
end

-- What is wrong with the header alone, or nothing.
local function header_fault(tvb, packet)
    if math.floor(packet.flags / 64) ~= 0 then
        return "bad_flags", "unknown flags"
    end
    for bit = 0, 5 do
        if flag(packet.flags, 2 ^ bit) and not flag(flags_of[packet.type], 2 ^ bit) then
            return "bad_flags", types[packet.type] .. " does not carry this flag"
        end
    end
    if packet.ack_delay ~= 0 and not (packet.type == ACK and flag(packet.flags, F_ECHO)) then
        return "reserved_set", "an ack_delay, which only an ACK with ECHO has"
    end
end

-- The ranges of seqnos that SACK's bits stand for, and how many they are. Bytes are read one by one, since their bits are
-- in order.
local function add_sack_ranges(tvb, at, words, tree, cum_ack)
    local begin, held = nil, 0
    local function close(last)
        local range = tree:add(f.sack_range, tvb(at, 8 * words),
            begin == last and tostring(begin) or begin .. "-" .. last):set_generated()
        range:add(f.sack_begin, tvb(at, 8 * words), begin):set_generated()
        range:add(f.sack_end, tvb(at, 8 * words), last):set_generated()
        begin = nil
    end
    local bits = 64 * words
    local last_held
    for i = 0, 8 * words - 1 do
        local byte = tvb(at + i, 1):uint()
        for bit = 0, 7 do
            local seqno = add32(cum_ack, 1 + 8 * i + bit)
            if flag(byte, 2 ^ bit) then
                begin = begin or seqno
                held = held + 1
                last_held = seqno
            elseif begin then
                close(add32(seqno, -1))
            end
        end
    end
    if begin then
        close(add32(cum_ack, bits))
    end
    return held, last_held
end

-- FIRST and SACK; returns where the content begins, or nothing after a fault.
local function add_extensions(tvb, tree, packet)
    local at, size = HEADER_BYTES, tvb:len()
    if flag(packet.flags, F_FIRST) then
        if at + FIRST_BYTES > size then
            return nil, "bad_extension", "FIRST is cut off"
        end
        local first = tree:add(f.first, tvb(at, FIRST_BYTES))
        first:add_le(f.first_seqno, tvb(at, 8))
        first:add_le(f.first_message, tvb(at + 8, 8))
        packet.first_seqno32 = tvb(at, 4):le_uint()
        packet.first_message = tvb(at + 8, 8):le_uint64()
        if distance(packet.seqno, packet.first_seqno32) < 0 then
            return nil, "bad_extension", "seqno lies before the connection's first"
        end
        at = at + FIRST_BYTES
    end
    if flag(packet.flags, F_SACK) then
        if not packet.has_ack then
            return nil, "bad_flags", "SACK without ACK"
        end
        if at + SACK_FIXED_BYTES > size then
            return nil, "bad_extension", "SACK is cut off"
        end
        local words = tvb(at, 2):le_uint()
        if words < 1 or words > 128 then
            return nil, "bad_extension", "SACK of " .. words .. " words, not 1 to 128"
        end
        local bytes = SACK_FIXED_BYTES + 8 * words
        if at + bytes > size then
            return nil, "bad_extension", "SACK is cut off"
        end
        local sack = tree:add(f.sack, tvb(at, bytes))
        sack:add_le(f.sack_words, tvb(at, 2))
        sack:add_le(f.sack_reserved, tvb(at + 2, 2))
        for word = 0, words - 1 do
            sack:add_le(f.sack_word, tvb(at + SACK_FIXED_BYTES + 8 * word, 8))
        end
        if tvb(at + 2, 2):le_uint() ~= 0 then
            return nil, "reserved_set", "a reserved field of SACK is not 0"
        end
        local held, last_held = add_sack_ranges(tvb, at + SACK_FIXED_BYTES, words, sack, packet.cum_ack)
        sack:add(f.sack_held, tvb(at + SACK_FIXED_BYTES, 8 * words), held):set_generated()
        packet.sack_held = held
        packet.sack_lacks = last_held and distance(last_held, packet.cum_ack) + 1 - held or 0
        at = at + bytes
    end
    return at
end

local function add_name(tvb, tree, field, at, length)
    local text = tvb(at, length):string()
    tree:add(field, tvb(at, length))
    return length >= 1 and length <= 63 and not text:find("[^!-~]")
end

local function add_hello(tvb, tree, at, packet)
    local size = tvb:len() - at
    if size < HELLO_FIXED_BYTES + 2 then
        return "bad_body", "the greeting is too short"
    end
    local features = tree:add_le(f.features, tvb(at, 4))
    features:add_le(f.feature_ack_delay, tvb(at, 4))
    tree:add_le(f.hello_reserved, tvb(at + 4, 4))
    tree:add_le(f.incarnation, tvb(at + 8, 8))
    tree:add_le(f.nonce, tvb(at + 16, 8))
    tree:add_le(f.echo_nonce, tvb(at + 24, 8))
    tree:add_le(f.hello_tag, tvb(at + 32, 4))
    tree:add_le(f.hello_slot, tvb(at + 36, 2))
    tree:add_le(f.max_packet, tvb(at + 38, 2))
    tree:add_le(f.hello_window, tvb(at + 40, 4))
    tree:add_le(f.ack_delay_us, tvb(at + 44, 4))
    tree:add_le(f.stream_id, tvb(at + 48, 8))
    tree:add_le(f.memory_incarnation, tvb(at + 56, 8))
    tree:add_le(f.memory_stream_id, tvb(at + 64, 8))
    tree:add_le(f.memory_rcv_nxt, tvb(at + 72, 8))
    tree:add_le(f.message_max, tvb(at + 80, 4))
    tree:add_le(f.hello_reserved, tvb(at + 84, 4))
    local memory = tree:add_le(f.memory_flags, tvb(at + 88, 4))
    memory:add_le(f.memory_valid, tvb(at + 88, 4))
    memory:add_le(f.memory_dropped, tvb(at + 88, 4))
    tree:add_le(f.hello_reserved, tvb(at + 92, 4))
    tree:add(f.from_len, tvb(at + 96, 1))
    tree:add(f.to_len, tvb(at + 97, 1))
    local from_len, to_len = tvb(at + 96, 1):uint(), tvb(at + 97, 1):uint()
    for _, reserved in ipairs({ 4, 84, 92 }) do
        if tvb(at + reserved, 4):le_uint() ~= 0 then
            return "reserved_set", "a reserved field of the greeting is not 0"
        end
    end
    if packet.type == HELLO and tvb(at + 24, 8):le_uint64() ~= UInt64(0) then
        return "bad_body", "a HELLO that echoes a nonce"
    end
    if tvb(at + 88, 4):le_uint() > 3 then
        return "bad_body", "unknown memory flags"
    end
    if size ~= HELLO_FIXED_BYTES + from_len + to_len then
        return "bad_body", "the names do not fill the packet"
    end
    local from_at = at + HELLO_FIXED_BYTES
    if from_len == 0 or to_len == 0 then
        return "bad_name", "an empty name"
    end
    local good = add_name(tvb, tree, f.from, from_at, from_len)
    good = add_name(tvb, tree, f.to, from_at + from_len, to_len) and good
    if not good then
        return "bad_name", "a name is 1 to 63 printable characters without space"
    end
    packet.summary = string.format(" %s > %s", tvb(from_at, from_len):string(), tvb(from_at + from_len, to_len):string())
end

-- The frames of DATA. Their items are kept for the message numbers, which analyse() finds out.
local function add_frames(tvb, tree, at, packet)
    local size, start = tvb:len(), at
    if at == size then
        return "empty_data", "DATA without a frame"
    end
    packet.frames = {}
    packet.messages_ended = 0
    while at < size do
        if size - at < 2 then
            return "bad_frame", "a frame is cut off"
        end
        local word = tvb(at, 2):le_uint()
        local kind, length = math.floor(word / 0x4000), word % 0x4000
        local header = kind == FIRST_FRAGMENT and 6 or 2
        if header + length > size - at then
            return "bad_frame", "a frame is longer than the packet"
        end
        local item = tree:add(f.frame, tvb(at, header + length))
        item:append_text(string.format(": %s, %d bytes", frame_kinds[kind], length))
        item:add_le(f.frame_kind, tvb(at, 2))
        item:add_le(f.frame_length, tvb(at, 2))
        local total
        if kind == FIRST_FRAGMENT then
            item:add_le(f.frame_total, tvb(at + 2, 4))
            total = tvb(at + 2, 4):le_uint()
        end
        if length > 0 then
            item:add(f.frame_data, tvb(at + header, length))
        end
        if kind ~= WHOLE then
            if length == 0 then
                return "bad_frame", "an empty fragment"
            elseif kind ~= FIRST_FRAGMENT and at ~= start then
                return "bad_frame", "a middle or last fragment that is not the first frame"
            elseif kind ~= LAST and at + header + length ~= size then
                return "bad_frame", "a first or middle fragment that is not the last frame"
            elseif total and total <= length then
                return "bad_frame", "a first fragment that is not shorter than its message"
            end
        end
        packet.frames[#packet.frames + 1] = { item = item, range = tvb(at, 2), kind = kind }
        if kind == WHOLE or kind == LAST then
            packet.messages_ended = packet.messages_ended + 1
        end
        at = at + header + length
    end
    local first_kind = packet.frames[1].kind
    if (first_kind == WHOLE or first_kind == FIRST_FRAGMENT) ~= flag(packet.flags, F_BOUNDARY) then
        return "bad_flags", "BOUNDARY does not say what the first frame is"
    end
    packet.summary = string.format(" %d frame%s, %d bytes", #packet.frames, #packet.frames == 1 and "" or "s", size - start)
end

local body_bytes = { [HELLO_DONE] = 16, [ACK] = 0, [NEED_FIRST] = 8, [CLOSE] = 20, [PROBE] = 0, [HEARTBEAT] = 0, [RESET] = 0 }

local function add_content(tvb, tree, at, packet)
    if packet.type == HELLO or packet.type == HELLO_ACK then
        return add_hello(tvb, tree, at, packet)
    elseif packet.type == DATA then
        return add_frames(tvb, tree, at, packet)
    end
    if tvb:len() - at ~= body_bytes[packet.type] then
        return "bad_body", string.format("%d bytes behind the header, not %d", tvb:len() - at, body_bytes[packet.type])
    end
    if packet.type == HELLO_DONE then
        tree:add_le(f.nonce, tvb(at, 8))
        tree:add_le(f.echo_nonce, tvb(at + 8, 8))
    elseif packet.type == NEED_FIRST then
        tree:add_le(f.rcv_nxt, tvb(at, 8))
    elseif packet.type == CLOSE then
        tree:add_le(f.close_reason, tvb(at, 4))
        tree:add_le(f.rcv_nxt, tvb(at + 4, 8))
        tree:add_le(f.next_message, tvb(at + 12, 8))
        packet.close_reason = close_reasons[tvb(at, 4):le_uint()]
        if not packet.close_reason then
            return "bad_body", "a reason that is none"
        end
    end
end

-- What was found out about the packet, into its tree.
local function show(found, packet, tvb, tree)
    local seqno, acked = tvb(12, 4), tvb(20, 4)
    if found.retransmission_of then
        tree:add(f.retransmission_of, seqno, found.retransmission_of):set_generated()
        tree:add_proto_expert_info(e.retransmission)
    elseif found.acknowledged_already then
        tree:add_proto_expert_info(e.retransmission, "Retransmission of what is acknowledged already")
    elseif found.fills_gap then
        tree:add_proto_expert_info(e.out_of_order)
    elseif found.missing then
        tree:add(f.missing, seqno, found.missing):set_generated()
        tree:add_proto_expert_info(e.gap, string.format("Gap: %d packet%s before this one missing", found.missing,
            found.missing == 1 and " is" or "s are"))
    end
    if found.message then
        local number = found.message
        for _, frame in ipairs(packet.frames) do
            frame.item:add(f.frame_message, frame.range, number):set_generated()
            if frame.kind == WHOLE or frame.kind == LAST then
                number = number + 1
            end
        end
    end
    if found.stale_ack then
        tree:add_tvb_expert_info(e.stale_ack, acked, found.stale_ack)
    elseif found.ack_of_unseen then
        tree:add_tvb_expert_info(e.ack_of_unseen, acked)
    end
    if found.stale_association then
        tree:add_proto_expert_info(e.stale_association)
    elseif found.association then
        tree:add_proto_expert_info(e.association)
    end
    if found.stale_connection then
        tree:add_proto_expert_info(e.stale_connection, found.stale_connection)
    elseif found.rotation then
        tree:add_proto_expert_info(e.rotation, found.rotation)
    end
    if packet.has_ack and packet.window == 0 and packet.type > HELLO_DONE then
        tree:add_proto_expert_info(e.closed_window)
    end
    if packet.sack_held and packet.sack_held > 0 then
        tree:add_proto_expert_info(e.sack_gap, string.format("The receiver lacks %d packet%s and holds %d behind",
            packet.sack_lacks, packet.sack_lacks == 1 and "" or "s", packet.sack_held))
    end
    if packet.type == NEED_FIRST then
        tree:add_proto_expert_info(e.need_first)
    elseif packet.type == CLOSE then
        tree:add_proto_expert_info(e.close, "Close: " .. packet.close_reason)
    elseif packet.type == RESET then
        tree:add_proto_expert_info(e.reset)
    end
end

local function info_text(packet)
    local text = types[packet.type]
    if packet.type > HELLO_DONE and packet.type ~= RESET then
        text = text .. string.format(" conn=%d seq=%d", packet.conn_id, packet.seqno)
    end
    if packet.has_ack then
        text = text .. string.format(" ack=%d/%d win=%d", packet.ack_conn_id, packet.cum_ack, packet.window)
    end
    return text .. (packet.summary or "") .. (packet.sack_held and string.format(" sack=%d", packet.sack_held) or "") ..
        (packet.close_reason and " " .. packet.close_reason or "")
end

function bowline.init()
    directions = {}
    findings = {}
end

-- The packet's parts in their order; what is wrong with it, or nothing.
local function dissect(tvb, tree, packet)
    local kind, why = header_fault(tvb, packet)
    if kind then
        return kind, why
    end
    local at
    at, kind, why = add_extensions(tvb, tree, packet)
    if not at then
        return kind, why
    end
    return add_content(tvb, tree, at, packet)
end

function bowline.dissector(tvb, pinfo, root)
    pinfo.cols.protocol = "Bowline"
    local tree = root:add(bowline, tvb())
    local status = { udp_checksum_status() }
    if #status > 0 and status[#status].value == CHECKSUM_BAD then
        tree:add_proto_expert_info(e.bad_checksum)
    end
    if tvb:len() < tvb:reported_len() then
        pinfo.cols.info = "cut short by the capture"
        tree:add_proto_expert_info(e.cut_short)
        if tvb:len() >= HEADER_BYTES and types[tvb(1, 1):uint()] then
            local packet = read_header(tvb)
            add_header(tvb, tree, packet)
            pinfo.cols.info = info_text(packet) .. " (cut short by the capture)"
        end
        return tvb:len()
    end

    local kind, why, packet
    if tvb:len() < HEADER_BYTES then
        kind, why = "too_short", "shorter than a header"
    elseif math.floor(tvb(0, 1):uint() / 16) ~= 0xB then
        kind, why = "bad_magic", "does not begin with Bowline's magic"
    elseif tvb(0, 1):uint() % 16 ~= 1 then
        kind, why = "bad_version", "of version " .. tvb(0, 1):uint() % 16 .. ", not 1"
    else
        packet = read_header(tvb)
        add_header(tvb, tree, packet)
        if types[packet.type] then
            kind, why = dissect(tvb, tree, packet)
        else
            kind, why = "bad_type", "there is no type " .. packet.type
        end
    end
    if kind then
        malformed(tree, tvb(), kind, why)
        pinfo.cols.info = string.format("Malformed (%s): %s", kind, why)
        return tvb:len()
    end
    if not pinfo.visited then
        findings[pinfo.number] = analyse(packet, pinfo)
    end
    local text = info_text(packet)
    pinfo.cols.info = text
    tree:append_text(", " .. text)
    show(findings[pinfo.number] or {}, packet, tvb, tree)
    return tvb:len()
end

local udp_ports = DissectorTable.get("udp.port")
local registered = "7727"
udp_ports:add(registered, bowline)

function bowline.prefs_changed()
    if bowline.prefs.ports ~= registered then
        if registered ~= "" then
            udp_ports:remove(registered, bowline)
        end
        registered = bowline.prefs.ports
        if registered ~= "" then
            udp_ports:add(registered, bowline)
        end
    end
end
