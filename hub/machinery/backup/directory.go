package backup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fairlead.dev/hub/machinery/backup/retention"
)

// directory is the directory with the backups of one hub, and possibly of others.
type directory struct{ path, hub string }

// backups returns the backups of the hub.
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

// sweep deletes unfinished backups of the hub. Only one is made at a time, so nobody is writing them.
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

// prune deletes expired backups, and returns their names.
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

// NewestFile returns the newest scheduled backup in a directory; the hub must only be given if there are backups of
// several. Backups from the future are not considered, and returned separately: the clock that made them was ahead, or
// the present one is behind.
func NewestFile(path, hub string, now time.Time) (newest string, ahead []retention.File, err error) {
	var hubs []string
	err = directory{path: path}.each(func(entry os.DirEntry) error {
		if of, ok := retention.HubOf(entry.Name()); ok && !slices.Contains(hubs, of) {
			hubs = append(hubs, of)
		}
		return nil
	})
	switch {
	case err != nil:
		return "", nil, err
	case hub == "" && len(hubs) > 1:
		slices.Sort(hubs)
		return "", nil, fmt.Errorf("%q holds backups of several hubs: name one of %s with --hub", path, strings.Join(hubs, ", "))
	case hub == "" && len(hubs) == 1:
		hub = hubs[0]
	}
	files, err := directory{path: path, hub: hub}.backups()
	if err != nil {
		return "", nil, err
	}
	found, ok := retention.Newest(files, now)
	switch {
	case ok:
		return filepath.Join(path, found.Name), retention.FromFuture(files, now), nil
	case len(files) > 0:
		return "", nil, fmt.Errorf("all backups in %q are from the future: set the clock of this machine, or, if it is right, name the one to take yourself", path)
	case hub == "":
		return "", nil, fmt.Errorf("%q holds no backup that a hub has made by a schedule", path)
	default:
		return "", nil, fmt.Errorf("%q holds no backup of hub %s that it has made by a schedule", path, hub)
	}
}
