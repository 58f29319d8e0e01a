/* A file system for SQLite that calls a hook before each operation on the disk, and leaves the
** work to the real file system. The hook may forbid the operation. */

#include <string.h>

#include "sqlite3.h"

enum { CREATE, WRITE, TRUNCATE, SYNC, DELETE, SYNC_FOLDER };

/* `*allow` is `length` at first. The shim writes `*allow` bytes, and carries out a sync if `*allow`
** is not 0. SQLite gets the hook's answer. */
typedef int Hook(int op, const char *name, sqlite3_int64 at, int length, const void *data,
                 int *allow);

typedef struct File {
  sqlite3_file base;
  const char *name;  /* 0 for temporary files, which need not survive */
  int syncs_folder;  /* the first sync of a new journal syncs its folder too */
  sqlite3_file *real;
} File;

static Hook *hook;
static sqlite3_vfs *real_vfs;
static sqlite3_vfs shim;
static sqlite3_io_methods methods;

static sqlite3_file *real(sqlite3_file *file) { return ((File *)file)->real; }

static int tell(int op, const char *name, sqlite3_int64 at, int length, const void *data,
                int *allow) {
  return name ? hook(op, name, at, length, data, allow) : SQLITE_OK;
}

static int shim_close(sqlite3_file *f) { return real(f)->pMethods->xClose(real(f)); }

static int shim_read(sqlite3_file *f, void *data, int n, sqlite3_int64 at) {
  return real(f)->pMethods->xRead(real(f), data, n, at);
}

static int shim_write(sqlite3_file *f, const void *data, int n, sqlite3_int64 at) {
  int allow = n;
  int answer = tell(WRITE, ((File *)f)->name, at, n, data, &allow);
  if (allow > 0) {
    int failed = real(f)->pMethods->xWrite(real(f), data, allow, at);
    if (failed) return failed;
  }
  return answer;
}

static int shim_truncate(sqlite3_file *f, sqlite3_int64 size) {
  int allow = 0;
  int answer = tell(TRUNCATE, ((File *)f)->name, size, 0, 0, &allow);
  return answer ? answer : real(f)->pMethods->xTruncate(real(f), size);
}

static int shim_sync(sqlite3_file *f, int flags) {
  File *file = (File *)f;
  int allow = 1;
  int answer = tell(SYNC, file->name, 0, 1, 0, &allow);
  if (answer == SQLITE_OK && file->syncs_folder) {
    int ignored = 1;
    answer = tell(SYNC_FOLDER, file->name, 0, 1, 0, &ignored);
    file->syncs_folder = 0;
  }
  if (answer || !allow) return answer;
  return real(f)->pMethods->xSync(real(f), flags);
}

static int shim_size(sqlite3_file *f, sqlite3_int64 *size) {
  return real(f)->pMethods->xFileSize(real(f), size);
}

static int shim_lock(sqlite3_file *f, int lock) {
  return real(f)->pMethods->xLock(real(f), lock);
}

static int shim_unlock(sqlite3_file *f, int lock) {
  return real(f)->pMethods->xUnlock(real(f), lock);
}

static int shim_check(sqlite3_file *f, int *result) {
  return real(f)->pMethods->xCheckReservedLock(real(f), result);
}

static int shim_control(sqlite3_file *f, int op, void *arg) {
  return real(f)->pMethods->xFileControl(real(f), op, arg);
}

static int shim_sector(sqlite3_file *f) { return real(f)->pMethods->xSectorSize(real(f)); }

static int shim_traits(sqlite3_file *f) {
  return real(f)->pMethods->xDeviceCharacteristics(real(f));
}

/* The shared memory beside the file is made anew after a power cut, so the hook is not called. */
static int shim_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **out) {
  return real(f)->pMethods->xShmMap(real(f), page, size, extend, out);
}

static int shim_shm_lock(sqlite3_file *f, int at, int n, int flags) {
  return real(f)->pMethods->xShmLock(real(f), at, n, flags);
}

static void shim_shm_barrier(sqlite3_file *f) { real(f)->pMethods->xShmBarrier(real(f)); }

static int shim_shm_unmap(sqlite3_file *f, int deletes) {
  return real(f)->pMethods->xShmUnmap(real(f), deletes);
}

static int shim_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *f, int flags,
                     int *out) {
  File *file = (File *)f;
  int journals = SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL;
  int exists = 1;
  (void)vfs;
  memset(file, 0, sizeof *file);
  file->real = (sqlite3_file *)(file + 1);
  if (name) real_vfs->xAccess(real_vfs, name, SQLITE_ACCESS_EXISTS, &exists);
  int failed = real_vfs->xOpen(real_vfs, name, file->real, flags, out);
  if (failed) return failed;
  file->base.pMethods = &methods;
  file->name = name;
  file->syncs_folder = (flags & SQLITE_OPEN_CREATE) && (flags & journals);
  if (!exists) {
    int ignored = 0;
    tell(CREATE, name, 0, 0, 0, &ignored);
  }
  return SQLITE_OK;
}

static int shim_delete(sqlite3_vfs *vfs, const char *name, int syncs_folder) {
  int ignored = 0;
  (void)vfs;
  int failed = real_vfs->xDelete(real_vfs, name, 0);
  if (failed) return failed;
  tell(DELETE, name, 0, 0, 0, &ignored);
  if (syncs_folder) return tell(SYNC_FOLDER, name, 0, 1, 0, &ignored);
  return SQLITE_OK;
}

/* Puts the shim in front of the default file system. */
int shim_register(Hook *told) {
  real_vfs = sqlite3_vfs_find(0);
  if (!real_vfs) return SQLITE_ERROR;
  hook = told;
  methods.iVersion = 2; /* no memory maps */
  methods.xClose = shim_close;
  methods.xRead = shim_read;
  methods.xWrite = shim_write;
  methods.xTruncate = shim_truncate;
  methods.xSync = shim_sync;
  methods.xFileSize = shim_size;
  methods.xLock = shim_lock;
  methods.xUnlock = shim_unlock;
  methods.xCheckReservedLock = shim_check;
  methods.xFileControl = shim_control;
  methods.xSectorSize = shim_sector;
  methods.xDeviceCharacteristics = shim_traits;
  methods.xShmMap = shim_shm_map;
  methods.xShmLock = shim_shm_lock;
  methods.xShmBarrier = shim_shm_barrier;
  methods.xShmUnmap = shim_shm_unmap;
  shim = *real_vfs; /* the real one keeps everything except files */
  shim.zName = "shim";
  shim.pNext = 0;
  shim.szOsFile = (int)sizeof(File) + real_vfs->szOsFile;
  shim.xOpen = shim_open;
  shim.xDelete = shim_delete;
  return sqlite3_vfs_register(&shim, 1);
}
