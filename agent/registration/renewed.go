package registration

import (
	"encoding/json"
	"fmt"
	"maps"
)

// Renewed returns files of a join as they are kept elsewhere by now: the agent that runs with them may have renewed its certificate, or been
// told other addresses, since they were read. What was said at a join that had nothing else to do, and whether a join was begun, is that of
// the files. If what is kept is of another join, or has an earlier certificate of the same one, the files are returned as they are.
func Renewed(files, kept map[string][]byte) (map[string][]byte, error) {
	if !isSameJoin(files, kept) || identityIn(files).Cluster != identityIn(kept).Cluster {
		return files, nil
	}
	if certificateIn(files).NotBefore.After(certificateIn(kept).NotBefore) {
		return files, nil // somebody put the Secret back, from a backup, say
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
