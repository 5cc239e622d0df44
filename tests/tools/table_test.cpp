#include "tools/table.hpp"

#include <gtest/gtest.h>

namespace bowline::tools {
namespace {

TEST(Table, AlignsWordsToTheLeftAndNumbersToTheRight) {
    Table table({"PEER", "SENT", "SRTT"});
    table.add({"10.0.0.2", "7", "21.3us"});
    table.add({"long-name", "12345", ""});
    EXPECT_EQ(table.text(),
              "PEER        SENT  SRTT\n"
              "10.0.0.2       7  21.3us\n"
              "long-name  12345  -\n");
}

TEST(Table, OfTitlesAloneIsOneLine) {
    const Table table({"PEER", "SENT"});
    EXPECT_TRUE(table.empty());
    EXPECT_EQ(table.text(), "PEER  SENT\n");
}

}  // namespace
}  // namespace bowline::tools
