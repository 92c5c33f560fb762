package backup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"fairlead.dev/hub/machinery/backup/retention"
)

// directory is where the backups of one hub are, maybe beside those of others.
type directory struct{ path, hub string }

// backups returns those of the hub.
func (d directory) backups() ([]retention.File, error) {
	var out []retention.File
	err := d.each(func(entry os.DirEntry) error {
		if f, ok := retention.Parse(d.hub, entry.Name()); ok {
			out = append(out, f)
		}
		return nil
	})
	return out, err
}

// sweep removes backups of the hub that nobody writes any more: one is made at a time.
func (d directory) sweep() error {
	return d.each(func(entry os.DirEntry) error {
		if retention.IsPartial(d.hub, entry.Name()) {
			return os.Remove(filepath.Join(d.path, entry.Name()))
		}
		return nil
	})
}

// each calls do with each regular file.
func (d directory) each(do func(os.DirEntry) error) error {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return fmt.Errorf("looking at the backups: %w", err)
	}
	for _, entry := range entries {
		if entry.Type().IsRegular() {
			err = errors.Join(err, do(entry))
		}
	}
	return err
}

// prune deletes what the rules say, and returns which.
func (d directory) prune(rules retention.Rules, now time.Time) ([]string, error) {
	files, err := d.backups()
	if err != nil {
		return nil, err
	}
	var deleted []string
	for _, f := range rules.Expired(files, now) {
		if removing := os.Remove(filepath.Join(d.path, f.Name)); removing != nil {
			err = errors.Join(err, fmt.Errorf("deleting an old backup: %w", removing))
			continue
		}
		deleted = append(deleted, f.Name)
	}
	return deleted, err
}
