/*
 * Preloaded into initdb, which refuses to run under a uid without a passwd entry ("could not look up effective user
 * ID"): the normal case of `docker run --user` and OpenShift. It only wants a name for its user, and any will do, since
 * promptd names the superuser itself. scripts/build-passwd-entry.sh compiles it for both architectures.
 */
#include <pwd.h>
#include <unistd.h>

static struct passwd entry = {"promptd", "x", 0, 0, "", "/", "/bin/false"};

struct passwd *getpwuid(uid_t uid) {
  entry.pw_uid = uid;
  entry.pw_gid = getegid();
  return &entry;
}

int getpwuid_r(uid_t uid, struct passwd *out, char *buffer, size_t size, struct passwd **result) {
  (void)buffer;
  (void)size;
  *out = *getpwuid(uid);
  *result = out;
  return 0;
}
