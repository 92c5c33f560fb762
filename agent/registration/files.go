package registration

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"

	"fairlead.dev/common/contract"
)

// Files returns the files of a state directory that make up an agent's identity and credentials.
func Files(stateDir string) (map[string][]byte, error) {
	s := state{dir: stateDir}
	out := map[string][]byte{}
	for _, name := range []string{identityFile, KubeconfigFile, keyFile, renewalKeyFile, retiredFile} {
		raw, err := s.read(name)
		if err != nil {
			return nil, err
		}
		if raw != nil {
			out[name] = raw
		}
	}
	return out, nil
}

// Unfinished returns the cluster of files, as Files returned them, and whether their join is unfinished. A join as
// another cluster cannot use them.
func Unfinished(files map[string][]byte) (cluster string, unfinished bool) {
	who := identityIn(files)
	return who.Cluster, len(files[KubeconfigFile]) == 0 && who.Cluster != ""
}

// JoinHash returns a hash of the join that files belong to, and of its choice of OnRetire. A renewal of the
// certificate does not change it. When it changes, a running agent has to take over the new files. It is empty
// without a certificate.
func JoinHash(files map[string][]byte) string {
	cert := certificateIn(files)
	if cert == nil {
		return ""
	}
	const short = 16 // bytes, as many as the ID of a join has
	sum := sha256.Sum256([]byte(contract.JoinOf(cert.Subject.Organization) + "\n" + identityIn(files).OnRetire))
	return hex.EncodeToString(sum[:short])
}

// identityIn returns the identity in files; the zero value if it cannot be read.
func identityIn(files map[string][]byte) identity {
	who, err := parseIdentity(files[identityFile])
	if err != nil {
		return identity{}
	}
	return *who
}

// CheckFiles returns an ErrStateDir if files were not written by an agent: they may come from a Secret that others can write.
func CheckFiles(files map[string][]byte) error {
	if raw := files[identityFile]; len(raw) > 0 {
		if _, err := parseIdentity(raw); err != nil {
			return fmt.Errorf("%w: %s is damaged (%w)", ErrStateDir, identityFile, err)
		}
	}
	if raw := files[KubeconfigFile]; len(raw) > 0 {
		if _, err := parseKubeconfig(raw); err != nil {
			return fmt.Errorf("%w: %s is damaged (%w)", ErrStateDir, KubeconfigFile, err)
		}
	}
	return nil
}

// withoutLeft returns files without the mark that the member has left. The mark belongs to the directory in which
// `agent leave` was interrupted; elsewhere it would make an agent remove its files without telling the hub.
func withoutLeft(files map[string][]byte) (map[string][]byte, error) {
	who := identityIn(files)
	if !who.Left {
		return files, nil
	}
	who.Left = false
	raw, err := json.MarshalIndent(who, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", identityFile, err)
	}
	out := maps.Clone(files)
	out[identityFile] = raw
	return out, nil
}

// isOtherJoin returns whether two sets of files are of different joins of the same cluster. The others may have no
// certificate.
func isOtherJoin(files, others map[string][]byte) bool {
	cluster := identityIn(files).Cluster
	return cluster != "" && cluster == identityIn(others).Cluster && certificateIn(files) != nil && !isSameJoin(files, others)
}

// isSameJoin returns whether two sets of files have certificates of the same join.
func isSameJoin(files, others map[string][]byte) bool {
	cert, other := certificateIn(files), certificateIn(others)
	return cert != nil && other != nil && contract.JoinOf(cert.Subject.Organization) == contract.JoinOf(other.Subject.Organization)
}

// joinedAgain returns whether files are of a later join of the same cluster than others; it may be unfinished.
func joinedAgain(files, others map[string][]byte) bool {
	if cluster := identityIn(files).Cluster; cluster == "" || cluster != identityIn(others).Cluster {
		return false
	}
	cert := certificateIn(files)
	if cert == nil {
		return false
	}
	if _, unfinished := Unfinished(others); unfinished {
		return true
	}
	before := certificateIn(others)
	return before != nil && cert.NotBefore.After(before.NotBefore) &&
		contract.JoinOf(cert.Subject.Organization) != contract.JoinOf(before.Subject.Organization)
}

// isFinished returns whether a key belongs to the certificate in files.
func isFinished(raw []byte, files map[string][]byte) bool {
	key := parseKey(raw)
	config, err := parseKubeconfig(files[KubeconfigFile])
	return key != nil && err == nil && isOfJoin(key, config.CertData)
}

// certificateIn returns the certificate in files; nil if there is none, or it cannot be parsed.
func certificateIn(files map[string][]byte) *x509.Certificate {
	config, err := parseKubeconfig(files[KubeconfigFile])
	if err != nil {
		return nil
	}
	cert, err := parseCertificate(config.CertData)
	if err != nil {
		return nil
	}
	return cert
}

// replaceFiles makes a state directory contain these files and no others. The certificate is written last: if the
// process is killed before, the next one sees the old certificate and starts over.
func replaceFiles(stateDir string, files map[string][]byte) error {
	s := state{dir: stateDir}
	files, err := withoutLeft(files)
	if err != nil {
		return err
	}
	if err := s.remove(refusedFile); err != nil { // it belongs to the other join
		return err
	}
	for _, name := range []string{keyFile, renewalKeyFile, retiredFile, identityFile, KubeconfigFile} {
		var err error
		if content := files[name]; len(content) > 0 {
			err = s.write(name, content)
		} else {
			err = s.remove(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// WriteFiles writes files, as Files returned them, to a state directory, without the mark that the member has left.
func WriteFiles(stateDir string, files map[string][]byte) error {
	s := state{dir: stateDir}
	files, err := withoutLeft(files)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(stateDir, dirMode); err != nil {
		return s.unusable(err)
	}
	// The identity is written last: without it the directory belongs to nobody.
	for _, name := range []string{keyFile, renewalKeyFile, KubeconfigFile, retiredFile, identityFile} {
		if content := files[name]; len(content) > 0 {
			if err := s.write(name, content); err != nil {
				return err
			}
		}
	}
	return nil
}
