package registration

import (
	"encoding/json"
	"fmt"
	"maps"
)

// Renewed updates the files of a join with the kept ones: the agent that runs with them may have renewed its
// certificate, or learned other addresses, since they were read. Settings, and whether a join is pending, are taken
// from files. If kept is of another join, or has an older certificate of the same join, files are returned unchanged.
func Renewed(files, kept map[string][]byte) (map[string][]byte, error) {
	if !isSameJoin(files, kept) || identityIn(files).Cluster != identityIn(kept).Cluster {
		return files, nil
	}
	if certificateIn(files).NotBefore.After(certificateIn(kept).NotBefore) {
		return files, nil // somebody restored the Secret, from a backup for instance
	}
	who := identityIn(files)
	if now := identityIn(kept); now.Server == who.Server {
		who.Servers = now.Servers
	}
	raw, err := json.MarshalIndent(who, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", identityFile, err)
	}
	out := maps.Clone(kept)
	out[identityFile] = raw
	delete(out, keyFile)
	if key := files[keyFile]; key != nil {
		out[keyFile] = key
	}
	return out, nil
}
