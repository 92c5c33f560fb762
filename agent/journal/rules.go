package journal

import (
	"crypto/sha256"
	"encoding/json"
	"errors"

	"fairlead.dev/agent/journal/entry"
)

const (
	// rulesFile holds the interpreter customizations.
	rulesFile = "rules"
	// maxRules bounds the bytes kept of the customizations: larger scripts are hardly intended.
	maxRules = 4 << 20
)

// rules is the file with the interpreter customizations: an extra that is written only if its content changed, and
// removed if it cannot be replaced.
type rules struct {
	extra[entry.Rules]

	// kept is the digest of the content on disk; it is valid while onDisk.
	kept   [sha256.Size]byte
	onDisk bool
}

// Rules returns the interpreter customizations that the hub last sent before this agent started; nil if there are
// none on disk.
func (j *Journal) Rules() *entry.Rules { return j.rules.found }

// PutRules stores the interpreter customizations. It is called before they are used, never concurrently. As with
// Works, an older version that cannot be replaced is removed: without the file, an agent that starts without the hub
// leaves the member's objects alone, while outdated customizations could make it overwrite fields that by now belong
// to the member.
func (j *Journal) PutRules(r entry.Rules) {
	j.writing.RLock()
	defer j.writing.RUnlock()
	r = entry.SlimRules(r)
	digest, length, err := digestOfRules(r)
	j.mu.Lock()
	same := err == nil && j.rules.onDisk && j.rules.kept == digest
	j.rules.unwritten = nil
	j.mu.Unlock()
	switch {
	case same:
		return
	case length > maxRules:
		j.log.Info("The interpreter rules of the hub are too large to be kept; an agent that starts while the hub is away leaves the objects in the member as they are. "+
			"Delete interpreter customizations and webhook configurations on the hub that nobody needs", "bytes", length, "most", maxRules)
		if err := j.rules.remove(j); err != nil {
			j.reportFailure(err)
		}
		return
	}
	if err := j.rules.write(j, r); err != nil {
		err = errors.Join(err, j.rules.remove(j))
		j.mu.Lock()
		j.rules.unwritten = &r
		j.mu.Unlock()
		j.reportFailure(err)
		return
	}
	j.syncNames()
}

// digestOfRules returns the digest of the customizations and their length in bytes.
func digestOfRules(r entry.Rules) (digest [sha256.Size]byte, length int, err error) {
	content, err := json.Marshal(r)
	return sha256.Sum256(content), len(content), err
}

func (r *rules) write(j *Journal, value entry.Rules) error {
	if err := r.extra.write(j, value); err != nil {
		return err
	}
	digest, _, err := digestOfRules(value)
	j.mu.Lock()
	defer j.mu.Unlock()
	r.kept, r.onDisk = digest, err == nil
	return nil
}

func (r *rules) remove(j *Journal) error {
	if err := r.extra.remove(j); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	r.onDisk = false
	return nil
}

// retry writes the customizations that PutRules could not write. If they cannot be written now either, it tries again
// to remove the outdated file.
func (r *rules) retry(j *Journal) error {
	unwritten := r.pending(j)
	if unwritten == nil {
		return nil
	}
	err := r.write(j, *unwritten)
	if err != nil {
		_ = r.remove(j) // report the first error, not this one
	}
	return err
}

func (r *rules) forget() {
	r.extra.forget()
	r.kept, r.onDisk = [sha256.Size]byte{}, false
}

func (r *rules) load(j *Journal) {
	r.extra.load(j)
	if r.found == nil {
		return
	}
	digest, _, err := digestOfRules(*r.found)
	r.kept, r.onDisk = digest, err == nil
}
