package store

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
)

// Purge removes sessions that can no longer be restored and images that no
// session refers to, and writes the file anew when more than half of it is free.
// Open and Delete do the same in passing.
func (s *Bolt) Purge() error {
	if _, err := s.removeExpired(); err != nil {
		return err
	}
	if err := s.collectImages(); err != nil {
		return err
	}
	return s.compactIfSparse()
}

// sweep is Purge where there is something to remove. It is done in passing: what
// it cannot do now (a full disk) is done another time.
func (s *Bolt) sweep() {
	if n, err := s.removeExpired(); err == nil && n > 0 && s.collectImages() == nil {
		_ = s.compactIfSparse()
	}
}

// removeExpired removes the sessions that can no longer be restored.
func (s *Bolt) removeExpired() (int, error) {
	gone, err := s.expired()
	if err != nil || len(gone) == 0 {
		return 0, err
	}
	return len(gone), s.remove(gone)
}

func (s *Bolt) expired() (ids []string, err error) {
	now := s.now()
	err = s.view(func(tx *bbolt.Tx) error {
		return tx.Bucket(bDeleted).ForEach(func(id, v []byte) error {
			t, err := time.Parse(time.RFC3339Nano, string(v))
			if err != nil || expired(t, now) {
				ids = append(ids, string(id))
			}
			return nil
		})
	})
	return ids, err
}

func (s *Bolt) remove(ids []string) error {
	err := s.update(func(tx *bbolt.Tx) error {
		for _, id := range ids {
			key := []byte(id)
			for _, name := range [][]byte{bLog, bAside} {
				if b := tx.Bucket(name); b.Bucket(key) != nil {
					if err := b.DeleteBucket(key); err != nil {
						return err
					}
				}
			}
			for _, name := range [][]byte{bMeta, bView, bCheck, bDeleted} {
				if err := tx.Bucket(name).Delete(key); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, id := range ids {
			s.working.forget(id)
		}
	}
	return err
}

// collectImages removes the images that nothing refers to. What cannot be read
// may refer to any: then none is removed.
func (s *Bolt) collectImages() error {
	used := map[string]bool{}
	scan := func(line []byte) { eachHash(line, func(h string) { used[h] = true }) }
	err := s.view(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{bMeta, bCheck} {
			if err := tx.Bucket(name).ForEach(func(_, v []byte) error { scan(v); return nil }); err != nil {
				return err
			}
		}
		for _, name := range [][]byte{bLog, bAside} {
			top := tx.Bucket(name)
			if err := top.ForEachBucket(func(id []byte) error {
				return top.Bucket(id).ForEach(func(_, v []byte) error { scan(v); return nil })
			}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.images.collect(used, time.Now()) // the files' times are the system's
}

// PutImage stores bytes by hash, durably.
func (s *Bolt) PutImage(data []byte) (string, error) { return s.images.put(data) }

// Image reads bytes by hash.
func (s *Bolt) Image(hash string) ([]byte, error) { return s.images.get(hash) }

// Value returns a copy of a value, nil where there is none.
func (s *Bolt) Value(bucket, key string) (value []byte, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		if b := tx.Bucket(bValues).Bucket([]byte(bucket)); b != nil {
			value = clone(b.Get([]byte(key)))
		}
		return nil
	})
	return value, err
}

// SetValue replaces a value; nil removes it.
func (s *Bolt) SetValue(bucket, key string, value []byte) error {
	return s.ChangeValue(bucket, key, func([]byte) ([]byte, error) { return value, nil })
}

// Values calls fn for every key of a bucket, in order. fn must not write.
func (s *Bolt) Values(bucket string, fn func(key string, value []byte) error) error {
	return s.view(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bValues).Bucket([]byte(bucket))
		if b == nil {
			return nil
		}
		return b.ForEach(func(k, v []byte) error { return pass(fn(string(k), v)) })
	})
}

// ChangeValue reads and replaces a value in one transaction.
func (s *Bolt) ChangeValue(bucket, key string, change func(old []byte) ([]byte, error)) error {
	if bucket == "" || key == "" {
		return fmt.Errorf("store value: bucket and key must not be empty")
	}
	return s.update(func(tx *bbolt.Tx) error {
		b, err := tx.Bucket(bValues).CreateBucketIfNotExists([]byte(bucket))
		if err != nil {
			return err
		}
		value, err := change(clone(b.Get([]byte(key))))
		if err != nil {
			return pass(err)
		}
		if value == nil {
			return b.Delete([]byte(key))
		}
		return b.Put([]byte(key), value)
	})
}

// isFull reports an error of a full disk.
func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, errQuota) }
