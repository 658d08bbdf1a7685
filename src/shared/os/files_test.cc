// SPDX-License-Identifier: Apache-2.0
#include "os/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace berth::os {
namespace {

class Files : public testing::Test {
 protected:
  Files() {
    std::string name = testing::TempDir() + "berth-files-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~Files() override { std::filesystem::remove_all(folder_); }
  std::string at(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
};

TEST_F(Files, WholeFilesAreReadUpToABound) {
  std::ofstream(at("a")) << std::string(10'000, 'x');
  EXPECT_EQ(read_file(at("a"), 10'000)->size(), 10'000u);
  EXPECT_EQ(read_file(at("a"), 9'999).error().code, Errc::kFull);
  EXPECT_EQ(read_file(at("b"), 1).error().code, Errc::kNotFound);
  EXPECT_NE(read_file(at("b"), 1).error().message.find(at("b")), std::string::npos);
  EXPECT_EQ(read_file(folder_, 1).error().code, Errc::kIo);
}

TEST_F(Files, WrittenFileReplacesTheOldOneWholeAndLeavesNothingElse) {
  for (const Sync sync : {Sync::kNone, Sync::kPowerCut}) {
    ASSERT_TRUE(write_file_atomically(at("a"), "one", 0644, sync).ok());
    ASSERT_TRUE(write_file_atomically(at("a"), "two", 0640, sync).ok());
    EXPECT_EQ(*read_file(at("a"), 10), "two");
  }
  struct stat found{};
  ASSERT_EQ(::stat(at("a").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777U, 0640u);
  EXPECT_FALSE(write_file_atomically(folder_ + "/missing/a", "x", 0644, Sync::kNone).ok());
  std::filesystem::create_directory(at("full"));
  EXPECT_FALSE(write_file_atomically(at("full"), "x", 0644, Sync::kNone).ok());
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_)) ++count;
  EXPECT_EQ(count, 2u);
}

TEST_F(Files, BehindAClosedDirectoryTheCureIsNamed) {
  if (::geteuid() == 0) GTEST_SKIP() << "no directory is closed to root";
  std::filesystem::create_directory(at("closed"));
  std::ofstream(at("closed/a")) << "x";
  ASSERT_EQ(::chmod(at("closed").c_str(), 0), 0);
  const std::string message = read_trusted_file(at("closed/a"), 10).error().message;
  EXPECT_NE(message.find("chmod a+rx '" + at("closed") + "'"), std::string::npos) << message;
  ASSERT_EQ(::chmod(at("closed").c_str(), 0700), 0);
}

TEST_F(Files, AGuardedDirectoryIsOursAndNobodyElseWritesToIt) {
  EXPECT_TRUE(make_guarded_directory(at("new/state"), OpenTo::kNobody).ok());
  EXPECT_TRUE(make_guarded_directory(at("new/state"), OpenTo::kReaders).ok());
  const auto refused = [&](const std::string& name, OpenTo open_to, const std::string& named) {
    const Status made = make_guarded_directory(at(name), open_to);
    return !made.ok() && made.error().code == Errc::kPermission &&
           made.error().message.find(at(named)) != std::string::npos;
  };
  ASSERT_EQ(::chmod(at("new/state").c_str(), 0755), 0);
  EXPECT_TRUE(make_guarded_directory(at("new/state"), OpenTo::kReaders).ok());
  EXPECT_TRUE(refused("new/state", OpenTo::kNobody, "new/state"));
  for (const mode_t open : {0775U, 0757U}) {
    ASSERT_EQ(::chmod(at("new/state").c_str(), open), 0);
    EXPECT_TRUE(refused("new/state", OpenTo::kReaders, "new/state"));
  }
  ASSERT_EQ(::chmod(at("new/state").c_str(), 0700), 0);
  std::filesystem::create_directory_symlink(at("new/state"), at("link"));
  EXPECT_TRUE(refused("link", OpenTo::kNobody, "link"));
}

TEST_F(Files, AGuardedDirectoryLiesWhereNobodyElseCouldPutAnother) {
  ASSERT_TRUE(make_guarded_directory(at("shared/state"), OpenTo::kNobody).ok());
  const auto made = [&](const std::string& name) {
    return make_guarded_directory(at(name), OpenTo::kNobody);
  };
  for (const mode_t open : {0777U, 0770U}) {
    ASSERT_EQ(::chmod(at("shared").c_str(), open), 0);
    EXPECT_EQ(made("shared/state").error().code, Errc::kPermission);
  }
  ASSERT_EQ(::chmod(at("shared").c_str(), 01777), 0);
  EXPECT_TRUE(made("shared/state").ok()) << "only its owner may rename it there";
  // Named by a way that is safe, and leading to one that is not.
  std::filesystem::create_directory_symlink(at("shared"), at("way"));
  EXPECT_TRUE(made("way/state").ok());
  ASSERT_EQ(::chmod(at("shared").c_str(), 0777), 0);
  EXPECT_EQ(made("way/state").error().code, Errc::kPermission);
}

TEST_F(Files, AGuardedDirectoryOfAnotherUserIsNone) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a directory of another user";
  constexpr uid_t kOther = 60'002;
  std::filesystem::create_directories(at("his/state"));
  std::filesystem::permissions(at("his/state"), std::filesystem::perms::owner_all);
  ASSERT_EQ(::chown(at("his/state").c_str(), kOther, 0), 0);
  EXPECT_EQ(make_guarded_directory(at("his/state"), OpenTo::kNobody).error().code,
            Errc::kPermission);
  ASSERT_EQ(::chown(at("his/state").c_str(), 0, 0), 0);
  ASSERT_EQ(::chown(at("his").c_str(), kOther, 0), 0);
  EXPECT_EQ(make_guarded_directory(at("his/state"), OpenTo::kNobody).error().code,
            Errc::kPermission);
}

TEST_F(Files, ThroughALinkNothingIsWritten) {
  std::filesystem::create_symlink("/nowhere", at("link"));
  EXPECT_EQ(refuse_link(at("link")).error().code, Errc::kPermission);
  std::ofstream(at("file")) << "x";
  EXPECT_TRUE(refuse_link(at("file")).ok());
  EXPECT_TRUE(refuse_link(at("none")).ok());
}

TEST_F(Files, ANewFileIsWrittenOnceAndHasItsModeWhateverTheUmask) {
  const mode_t before = ::umask(077);
  const Status written = write_new_file(at("new"), "one", 0666);
  ::umask(before);
  ASSERT_TRUE(written.ok());
  struct stat found{};
  ASSERT_EQ(::stat(at("new").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0666U);
  const Status again = write_new_file(at("new"), "two", 0666);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, Errc::kConflict);
  EXPECT_EQ(*read_file(at("new"), 10), "one");
}

TEST_F(Files, FilesOfAnExtensionComeInOrderAndNotWithoutBound) {
  for (const char* name : {"b.toml", "a.toml", "c.toml", "d.txt", "toml"}) std::ofstream(at(name));
  const std::vector<std::string> all = {at("a.toml"), at("b.toml"), at("c.toml")};
  EXPECT_EQ(files_with_extension(folder_, {".toml"}, 3), all);
  EXPECT_EQ(files_with_extension(folder_, {".toml"}, 2).size(), 2u);
  EXPECT_EQ(files_with_extension(folder_, {".toml", ".txt"}, 9).size(), 4u);
  EXPECT_TRUE(files_with_extension(at("missing"), {".toml"}, 3).empty());
}

TEST_F(Files, PrivateDirectoryIsMadeClosedAndAnOpenOneIsRefused) {
  ASSERT_TRUE(make_private_directory(at("x/y")).ok());
  struct stat found{};
  ASSERT_EQ(::stat(at("x/y").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777U, 0700u);
  EXPECT_TRUE(make_private_directory(at("x/y")).ok());

  ASSERT_EQ(::chmod(at("x/y").c_str(), 0750), 0);
  EXPECT_EQ(make_private_directory(at("x/y")).error().code, Errc::kPermission);
  ASSERT_EQ(::symlink(at("x").c_str(), at("link").c_str()), 0);
  EXPECT_EQ(make_private_directory(at("link")).error().code, Errc::kPermission);
  std::ofstream(at("file")) << "x";
  EXPECT_EQ(make_private_directory(at("file")).error().code, Errc::kConflict);
  EXPECT_EQ(make_private_directory(at("file/y")).error().code, Errc::kConflict);
  EXPECT_EQ(make_private_directory("").error().code, Errc::kInvalid);
}

TEST_F(Files, DirectoryOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  ASSERT_TRUE(make_private_directory(at("his")).ok());
  ASSERT_EQ(::chown(at("his").c_str(), 12'345, 12'345), 0);
  const Status made = make_private_directory(at("his"));
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Errc::kPermission);
  EXPECT_NE(made.error().message.find("12345"), std::string::npos);
}

TEST_F(Files, OnlyAFileThatNobodyElseCouldWriteIsTrusted) {
  std::ofstream(at("a")) << "x";
  ASSERT_EQ(::chmod(at("a").c_str(), 0644), 0);
  EXPECT_EQ(*read_trusted_file(at("a"), 10), "x");
  for (const unsigned mode : {0664U, 0646U}) {
    ASSERT_EQ(::chmod(at("a").c_str(), mode), 0);
    EXPECT_EQ(read_trusted_file(at("a"), 10).error().code, Errc::kPermission) << mode;
  }
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  EXPECT_EQ(read_trusted_file(at("pipe"), 10).error().code, Errc::kPermission);
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chmod(at("a").c_str(), 0644), 0);
  ASSERT_EQ(::chown(at("a").c_str(), 12'345, 12'345), 0);
  EXPECT_EQ(read_trusted_file(at("a"), 10).error().code, Errc::kPermission);
}

TEST_F(Files, OnlyAFileThatNobodyElseCanReadIsPrivate) {
  std::ofstream(at("a")) << "x";
  ASSERT_EQ(::chmod(at("a").c_str(), 0600), 0);
  EXPECT_EQ(*read_private_file(at("a"), 10), "x");
  ASSERT_EQ(::chmod(at("a").c_str(), 0400), 0);
  EXPECT_TRUE(read_private_file(at("a"), 10).ok());
  for (const unsigned mode : {0640U, 0604U, 0620U}) {
    ASSERT_EQ(::chmod(at("a").c_str(), mode), 0);
    const auto read = read_private_file(at("a"), 10);
    ASSERT_FALSE(read.ok()) << mode;
    EXPECT_EQ(read.error().code, Errc::kPermission) << mode;
    EXPECT_NE(read.error().message.find("chmod 600"), std::string::npos);
  }
  EXPECT_EQ(read_private_file(at("."), 10).error().code, Errc::kPermission);
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chmod(at("a").c_str(), 0600), 0);
  ASSERT_EQ(::chown(at("a").c_str(), 12'345, 12'345), 0);
  EXPECT_EQ(read_private_file(at("a"), 10).error().code, Errc::kPermission);
}

TEST_F(Files, SecondTakerOfALockIsToldWhoHasIt) {
  {
    const Result<FileLock> first = FileLock::take(at("lock"));
    ASSERT_TRUE(first.ok());
    const Result<FileLock> second = FileLock::take(at("lock"));
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code, Errc::kConflict);
    EXPECT_NE(second.error().message.find("process " + std::to_string(::getpid())),
              std::string::npos);
  }
  EXPECT_TRUE(FileLock::take(at("lock")).ok());
  EXPECT_TRUE(FileLock::wait(at("lock")).ok());
}

TEST_F(Files, LockOfAKilledProcessIsFree) {
  std::array<int, 2> up{};
  ASSERT_EQ(::pipe2(up.data(), O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const Result<FileLock> lock = FileLock::take(at("lock"));
    (void)!::write(up[1], lock.ok() ? "y" : "n", 1);
    for (;;) ::pause();
  }
  char answer = 0;
  ASSERT_EQ(::read(up[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  EXPECT_FALSE(FileLock::take(at("lock")).ok());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(FileLock::take(at("lock")).ok());
  ::close(up[0]);
  ::close(up[1]);
}

TEST_F(Files, HeldDirectoryCannotBeLockedByACleaner) {
  const UniqueFd cleaner(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  {
    const Result<UniqueFd> held = hold_directory(folder_);
    ASSERT_TRUE(held.ok());
    EXPECT_NE(::flock(cleaner.get(), LOCK_EX | LOCK_NB), 0);
  }
  EXPECT_EQ(::flock(cleaner.get(), LOCK_EX | LOCK_NB), 0);
}

TEST_F(Files, MovingNeverReplaces) {
  std::ofstream(at("a")) << "a";
  std::ofstream(at("b")) << "b";
  EXPECT_EQ(move_file(at("a"), at("b")).error().code, Errc::kConflict);
  EXPECT_EQ(*read_file(at("b"), 10), "b");
  EXPECT_TRUE(move_file(at("a"), at("c")).ok());
  EXPECT_FALSE(exists(at("a")));
  EXPECT_EQ(*read_file(at("c"), 10), "a");
}

TEST_F(Files, ReservedSpaceKeepsTheContent) {
  ASSERT_TRUE(reserve_space(at("new"), kib(64)).ok());
  EXPECT_EQ(std::filesystem::file_size(at("new")), 65'536u);
  struct stat found{};
  ASSERT_EQ(::stat(at("new").c_str(), &found), 0);
  EXPECT_GE(found.st_blocks * 512, 65'536);
  EXPECT_EQ(found.st_mode & 0777U, 0600u);
  std::ofstream(at("old")) << "abc";
  ASSERT_TRUE(reserve_space(at("old"), Bytes{2}).ok());
  EXPECT_EQ(*read_file(at("old"), 10), "abc");
  EXPECT_EQ(reserve_space(at("missing/x"), kib(1)).error().code, Errc::kNotFound);
  EXPECT_TRUE(sync_file(at("old")).ok());
  EXPECT_TRUE(sync_file(folder_).ok());
  EXPECT_EQ(sync_file(at("missing")).error().code, Errc::kNotFound);
}

TEST_F(Files, FileSystemAnswers) {
  EXPECT_GT(free_space(folder_)->value, 0u);
  EXPECT_FALSE(*is_network_file_system(folder_));
  EXPECT_EQ(is_network_file_system(at("missing")).error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace berth::os
