//go:build unix

package store

import "syscall"

const errQuota = syscall.EDQUOT
