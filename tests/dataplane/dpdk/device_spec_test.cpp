#include "dataplane/dpdk/device_spec.hpp"

#include <string>

#include <gtest/gtest.h>

namespace bowline::dataplane::dpdk {
namespace {

DeviceSpec parsed(std::string_view text) {
    auto spec = parse_device_spec(text);
    EXPECT_TRUE(spec) << (spec ? "" : spec.error().message);
    return spec ? *spec : DeviceSpec{};
}

std::string refusal(std::string_view text) {
    const auto spec = parse_device_spec(text);
    EXPECT_FALSE(spec) << text;
    return spec ? "" : spec.error().message;
}

TEST(DeviceSpec, AfPacketGetsRingsThatTheKernelAndTheDriverBothTake) {
    const DeviceSpec spec = parsed("af_packet:veth0");
    EXPECT_EQ(spec.kind, DeviceKind::af_packet);
    EXPECT_EQ(spec.vdev(3, DriverNeeds{}),
              "net_af_packet3,iface=veth0,blocksz=65536,framesz=2048,framecnt=2048,qpairs=1,qdisc_bypass=1");
    DriverNeeds jumbo;
    jumbo.frame_bytes = 9018;
    jumbo.descriptors = 1024;
    EXPECT_EQ(spec.driver_args(jumbo), "iface=veth0,blocksz=65536,framesz=16384,framecnt=1024,qpairs=1,qdisc_bypass=1");
}

TEST(DeviceSpec, AUsersOptionsWinAndTheOthersFitThem) {
    const DeviceSpec spec = parsed("af_packet:veth0,framesz=4096,blocksz=4096,qdisc_bypass=0");
    EXPECT_EQ(spec.driver_args(DriverNeeds{}),
              "iface=veth0,framesz=4096,blocksz=4096,qdisc_bypass=0,framecnt=2048,qpairs=1");
}

TEST(DeviceSpec, MemifTakesItsRoleFromTheUserOrFromWhatWasSettled) {
    const DeviceSpec open = parsed("memif:/tmp/x.sock");
    EXPECT_EQ(open.role, MemifRole::automatic);
    DriverNeeds needs;
    needs.role = MemifRole::client;
    EXPECT_EQ(open.driver_args(needs), "role=client,socket=/tmp/x.sock,socket-abstract=no,bsize=2048,rsize=11");
    const DeviceSpec server = parsed("memif:/tmp/x.sock,role=server,rsize=9");
    EXPECT_EQ(server.vdev(0, needs), "net_memif0,role=server,socket=/tmp/x.sock,socket-abstract=no,rsize=9,bsize=2048");
    EXPECT_TRUE(server.shares_memory());
}

TEST(DeviceSpec, MemifPathIsMadeAbsolute) { EXPECT_TRUE(parsed("memif:x.sock").target.ends_with("/x.sock")); }

TEST(DeviceSpec, PciAddressesAreBroughtToOneForm) {
    EXPECT_EQ(parsed("pci:3B:00.1").target, "0000:3b:00.1");
    EXPECT_EQ(parsed("0000:3b:00.0").kind, DeviceKind::pci);
    EXPECT_EQ(parsed("AA:bb:cc:dd:ee:ff").kind, DeviceKind::mac);
    EXPECT_EQ(parsed("AA:bb:cc:dd:ee:ff").target, "aa:bb:cc:dd:ee:ff");
    EXPECT_TRUE(parsed("pci:3b:00.1").on_pci());
}

TEST(DeviceSpec, DpdkNamesPassThrough) {
    const DeviceSpec spec = parsed("net_af_packet0,iface=eth0,framecnt=512");
    EXPECT_EQ(spec.kind, DeviceKind::vdev);
    EXPECT_EQ(spec.vdev(7, DriverNeeds{}), "net_af_packet0,iface=eth0,framecnt=512");
}

TEST(DeviceSpec, NullReceivesNothingUnlessToldTo) {
    EXPECT_EQ(parsed("null").vdev(1, DriverNeeds{}), "net_null1,no-rx=1");
    EXPECT_EQ(parsed("null,size=128").vdev(1, DriverNeeds{}), "net_null1,size=128");
}

TEST(DeviceSpec, BadNamesAreToldWhatWasExpected) {
    EXPECT_NE(refusal("").find("expected pci:ADDRESS"), std::string::npos);
    EXPECT_NE(refusal("eth0").find("'af_packet:eth0'"), std::string::npos);
    EXPECT_NE(refusal("af_packet").find("expected af_packet:, then the name of a kernel interface"), std::string::npos);
    EXPECT_NE(refusal("af_packet:").find("expected the name of a kernel interface"), std::string::npos);
    EXPECT_NE(refusal("af_packet:a-name-of-17-chars").find("1 to 15 characters"), std::string::npos);
    EXPECT_NE(refusal("af_packet:a b").find("not 'a b'"), std::string::npos);
    EXPECT_NE(refusal("pci:nonsense").find("such as 0000:3b:00.0"), std::string::npos);
    EXPECT_NE(refusal("memif:/x,role=master").find("'server', 'client' or 'auto', not 'master'"), std::string::npos);
    EXPECT_NE(refusal("memif:/x,socket=/y").find("leave it out"), std::string::npos);
    EXPECT_NE(refusal("memif:/" + std::string(120, 'x')).find("107"), std::string::npos);
    EXPECT_NE(refusal("null,size").find("key=value after a comma, not 'size'"), std::string::npos);
    EXPECT_NE(refusal("null,=3").find("key=value"), std::string::npos);
    EXPECT_NE(refusal("net_ring").find("'net_ring0'"), std::string::npos);
    EXPECT_NE(refusal("foo:bar").find("expected pci:ADDRESS"), std::string::npos);
}

}  // namespace
}  // namespace bowline::dataplane::dpdk
