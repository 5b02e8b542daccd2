/* Keeps what a power cut would leave: the content of each file in the folder SYNCED_FROM at its last sync. Each
   sync copies the file to the folder SYNCED_TO, and each removal removes the copy. This library is preloaded. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

static void copy(int from, const char *to) {
    char part[4200], buffer[65536];
    ssize_t got;
    off_t at = 0;
    snprintf(part, sizeof part, "%s.part", to);
    int copy = open(part, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (copy < 0) abort();
    while ((got = pread(from, buffer, sizeof buffer, at)) > 0) {
        if (write(copy, buffer, (size_t)got) != got) abort();
        at += got;
    }
    if (got < 0 || close(copy) || rename(part, to)) abort();
}

/* Writes the path of a file's copy to `copied`. Returns 0 for files outside SYNCED_FROM. */
static int copy_of(const char *path, char *copied, size_t size) {
    const char *from = getenv("SYNCED_FROM"), *to = getenv("SYNCED_TO");
    size_t folder = from ? strlen(from) : 0;
    if (!folder || !to || strncmp(path, from, folder) || path[folder] != '/') return 0;
    snprintf(copied, size, "%s%s", to, path + folder);
    return 1;
}

static int synced(int file, long call) {
    int result = (int)syscall(call, file);
    char link[64], path[4096], copied[4128];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (result || length < 0) return result;
    path[length] = 0;
    pthread_mutex_lock(&one);
    if (copy_of(path, copied, sizeof copied)) copy(file, copied);
    pthread_mutex_unlock(&one);
    return result;
}

int fsync(int file) { return synced(file, SYS_fsync); }

int fdatasync(int file) { return synced(file, SYS_fdatasync); }

int unlink(const char *path) {
    char copied[4128];
    if (copy_of(path, copied, sizeof copied)) syscall(SYS_unlinkat, AT_FDCWD, copied, 0);
    return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}
