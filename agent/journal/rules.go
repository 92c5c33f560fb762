package journal

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"fairlead.dev/agent/journal/entry"
)

const (
	// rulesFile says what kinds mean.
	rulesFile = "rules"
	// maxRules is how many bytes of that are kept at most: scripts that say more than that are hardly meant.
	maxRules = 4 << 20
)

// rules is the state of the file of the interpreter's customizations.
type rules struct {
	// found are the customizations that the file held when the journal was opened; nil if there was no usable file.
	found *entry.Rules
	// kept is the digest of what is on disk, if something is.
	kept   [sha256.Size]byte
	onDisk bool
	// unwritten are customizations that could not be written to the disk yet; nil if the disk is up to date.
	unwritten *entry.Rules
}

// Rules returns what kinds meant when the hub was last asked before this agent started; nil if that is not known.
func (j *Journal) Rules() *entry.Rules { return j.rules.found }

// PutRules keeps what kinds mean. It is called before that is used, by one at a time. Like an older version of a Work, what the disk has is removed
// where it cannot be replaced: without the file an agent that starts without the hub leaves what is in the member as it is, and by an older one
// it would overwrite what belongs to the member by now.
func (j *Journal) PutRules(r entry.Rules) {
	j.writing.RLock()
	defer j.writing.RUnlock()
	r = entry.SlimRules(r)
	content, err := json.Marshal(r)
	digest := sha256.Sum256(content)
	j.mu.Lock()
	same := err == nil && j.rules.onDisk && j.rules.kept == digest
	j.rules.unwritten = nil
	j.mu.Unlock()
	switch {
	case same:
		return
	case len(content) > maxRules:
		j.log.Info("What kinds mean is too much to be kept; an agent that starts while the hub is away leaves the objects in the member as they are. "+
			"Delete interpreter customizations and webhook configurations on the hub that are of no use", "bytes", len(content), "most", maxRules)
		if err := j.removeRules(); err != nil {
			j.reportFailure(err)
		}
		return
	}
	if err := j.writeRules(r); err != nil {
		err = errors.Join(err, j.removeRules())
		j.mu.Lock()
		j.rules.unwritten = &r
		j.mu.Unlock()
		j.reportFailure(err)
		return
	}
	j.syncNames()
}

// writeRules writes what kinds mean.
func (j *Journal) writeRules(r entry.Rules) error {
	content, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encoding what kinds mean: %w", err)
	}
	text, err := entry.Encode(rulesFile, r, j.key)
	if err == nil {
		err = j.replace(filepath.Join(j.directory, rulesFile), text)
	}
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.rules.kept, j.rules.onDisk, j.rules.unwritten = sha256.Sum256(content), true, nil
	j.dirUnsynced = true
	return nil
}

// removeRules removes the file.
func (j *Journal) removeRules() error {
	err := j.unlink(filepath.Join(j.directory, rulesFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.rules.onDisk, j.dirUnsynced = false, true
	return nil
}

// retryRules writes what could not be written before. What is on disk meanwhile, since it could not be removed either, is older.
func (j *Journal) retryRules() error {
	j.mu.Lock()
	unwritten := j.rules.unwritten
	j.mu.Unlock()
	if unwritten == nil {
		return nil
	}
	err := j.writeRules(*unwritten)
	if err != nil {
		_ = j.removeRules() // the first error is the one to tell
	}
	return err
}

// loadRules reads what kinds meant. A file that was put there and is larger than any of ours is not read.
func (j *Journal) loadRules() {
	info, err := os.Stat(filepath.Join(j.directory, rulesFile))
	var found entry.Rules
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err == nil && info.Size() > 2*maxRules:
		err = entry.ErrForeign
	case err == nil:
		_, err = j.read(rulesFile, &found)
	}
	if err != nil {
		j.setAside(rulesFile, err)
		return
	}
	content, err := json.Marshal(found)
	j.rules.found, j.rules.kept, j.rules.onDisk = &found, sha256.Sum256(content), err == nil
}
