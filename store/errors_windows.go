package store

import "syscall"

const errQuota = syscall.Errno(0x70) // ERROR_DISK_FULL
