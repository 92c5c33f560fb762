package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"fairlead.dev/agent/journal/entry"
)

// extra is a file beside those of the Works that is always replaced as a whole. If a new version cannot be written,
// the old one stays until it can be replaced; being outdated does no harm, except for rules, which handle that
// themselves.
type extra[T any] struct {
	name string
	// most bounds the bytes read of the file.
	most int64
	// found is what the file held when the journal was opened; nil if there was no usable file.
	found *T
	// unwritten is the value that could not be written to the disk yet; nil if the disk is up to date.
	unwritten *T
}

// put writes a value, or schedules a retry if that fails. It must not be called concurrently.
func (e *extra[T]) put(j *Journal, value T) {
	j.writing.RLock()
	defer j.writing.RUnlock()
	if err := e.write(j, value); err != nil {
		j.mu.Lock()
		e.unwritten = &value
		j.mu.Unlock()
		j.reportFailure(err)
	}
}

func (e *extra[T]) write(j *Journal, value T) error {
	text, err := entry.Encode(e.name, value, j.key)
	if err == nil {
		err = j.replace(filepath.Join(j.directory, e.name), text)
	}
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	e.unwritten, j.dirUnsynced = nil, true
	return nil
}

// retry writes the value that an earlier put could not write.
func (e *extra[T]) retry(j *Journal) error {
	if unwritten := e.pending(j); unwritten != nil {
		return e.write(j, *unwritten)
	}
	return nil
}

// pending returns the value that could not be written to the disk yet; nil if the disk is up to date.
func (e *extra[T]) pending(j *Journal) *T {
	j.mu.Lock()
	defer j.mu.Unlock()
	return e.unwritten
}

// known returns the value found when the journal was opened; the zero value if there was no usable file.
func (e *extra[T]) known() T {
	var none T
	if e.found == nil {
		return none
	}
	return *e.found
}

func (e *extra[T]) remove(j *Journal) error {
	err := j.unlink(filepath.Join(j.directory, e.name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.dirUnsynced = true
	return nil
}

// forget drops the value found at the start and the one still to be written.
func (e *extra[T]) forget() {
	e.found, e.unwritten = nil, nil
}

// load reads the file, unless it is larger than any that the agent writes: then somebody else put it there.
func (e *extra[T]) load(j *Journal) {
	info, err := os.Stat(filepath.Join(j.directory, e.name))
	var found T
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err == nil && info.Size() > e.most:
		err = entry.ErrForeign
	case err == nil:
		_, err = j.read(e.name, &found)
	}
	if err != nil {
		j.setAside(e.name, err)
		return
	}
	e.found = &found
}
