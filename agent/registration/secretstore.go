package registration

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
)

// SecretStore keeps what an agent is on the hub in a Secret of its member as well: a pod that is
// made anew has an empty directory.
type SecretStore struct {
	memberClient client.Client
	key          types.NamespacedName
	// saved is what the Secret has.
	saved map[string][]byte
}

// OpenSecretStore returns the one in a Secret, given as NAMESPACE/NAME.
func OpenSecretStore(member *rest.Config, secret string) (*SecretStore, error) {
	namespace, name, ok := strings.Cut(secret, "/")
	if !ok || namespace == "" || name == "" {
		return nil, fmt.Errorf("the Secret %q is not of the form NAMESPACE/NAME", secret)
	}
	memberClient, err := newClient(member)
	if err != nil {
		return nil, err
	}
	return &SecretStore{memberClient: memberClient, key: types.NamespacedName{Namespace: namespace, Name: name}}, nil
}

// Restore fills a state directory in which nothing is from the Secret. If a cluster is given, what a join as another one
// left that never succeeded is ignored.
//
// What is in the directory is older than the Secret only if `agent join --install` joined again since: then the hub
// has revoked what the directory has, and the Secret replaces it.
func (m *SecretStore) Restore(ctx context.Context, stateDir, cluster string) error {
	kept, err := Files(stateDir)
	if err != nil {
		return err
	}
	secret := &corev1.Secret{}
	asking, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err = m.memberClient.Get(asking, m.key, secret)
	if err != nil && len(kept) > 0 {
		if !apierrors.IsNotFound(err) {
			ctrl.LoggerFrom(ctx).Error(err, "Going by the state directory, since the member does not show the Secret of the agent", "Secret", m.key)
		}
		return nil // the agent starts while its member is down
	}
	if err != nil {
		return fmt.Errorf("reading the state of the agent from Secret %s of the member: %w", m.key, err)
	}
	m.saved = secret.Data
	if len(kept) > 0 {
		if !joinedAgain(secret.Data, kept) {
			if kept[keyFile] == nil && !isFinished(secret.Data[keyFile], kept) {
				delete(m.saved, keyFile) // `agent join --install` has begun a join with it, and is to find it again
			}
			return nil
		}
		return replaceFiles(stateDir, secret.Data)
	}
	if other, unfinished := Unfinished(secret.Data); unfinished && cluster != "" && other != cluster {
		return nil
	}
	return WriteFiles(stateDir, secret.Data)
}

// has says whether the Secret is known to have what the directory has.
func (m *SecretStore) has(stateDir string) bool {
	files, err := Files(stateDir)
	return err == nil && maps.EqualFunc(files, m.saved, bytes.Equal)
}

// Save brings the Secret to what the directory has.
func (m *SecretStore) Save(ctx context.Context, stateDir string) error {
	files, err := Files(stateDir)
	if err != nil {
		return err
	}
	if maps.EqualFunc(files, m.saved, bytes.Equal) {
		return nil
	}
	data := map[string]any{}
	for name := range m.saved {
		data[name] = nil // it may be gone
	}
	for name, content := range files {
		data[name] = content
	}
	patch, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		return fmt.Errorf("encoding the state of the agent: %w", err)
	}
	secret := &corev1.Secret{}
	secret.Namespace, secret.Name = m.key.Namespace, m.key.Name
	if err := m.memberClient.Patch(ctx, secret, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(contract.FieldManagerAgent)); err != nil {
		return fmt.Errorf("keeping the state of the agent in Secret %s of the member: %w", m.key, err)
	}
	m.saved = files
	return nil
}

// Files returns what a state directory holds of an agent on its hub.
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

// Unfinished says whether files, as Files returned them, are those of a join that was begun and never finished, and as
// which cluster. They are of no use for a join as another one.
func Unfinished(files map[string][]byte) (cluster string, unfinished bool) {
	who := identity{}
	if len(files[KubeconfigFile]) > 0 || json.Unmarshal(files[identityFile], &who) != nil {
		return "", false
	}
	return who.Cluster, who.Cluster != ""
}

// joinedAgain says whether files are those of a later join of the same cluster than others, which may never have been finished.
func joinedAgain(files, others map[string][]byte) bool {
	cluster, other := identity{}, identity{}
	if json.Unmarshal(files[identityFile], &cluster) != nil || json.Unmarshal(others[identityFile], &other) != nil || cluster.Cluster != other.Cluster {
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

// isFinished says whether a key is that of the join of which files have the certificate.
func isFinished(raw []byte, files map[string][]byte) bool {
	key := parseKey(raw)
	config, err := clientcmd.RESTConfigFromKubeConfig(files[KubeconfigFile])
	return key != nil && err == nil && isOfJoin(key, config.CertData)
}

// certificateIn returns the certificate of an agent; nil if there is none that can be read.
func certificateIn(files map[string][]byte) *x509.Certificate {
	config, err := clientcmd.RESTConfigFromKubeConfig(files[KubeconfigFile])
	if err != nil {
		return nil
	}
	cert, err := parseCertificate(config.CertData)
	if err != nil {
		return nil
	}
	return cert
}

// replaceFiles has a state directory hold these files and no others. The certificate comes last: as long as it is the old one, an
// agent that is stopped replaces them again.
func replaceFiles(stateDir string, files map[string][]byte) error {
	s := state{dir: stateDir}
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

// WriteFiles puts into a state directory what Files returned.
func WriteFiles(stateDir string, files map[string][]byte) error {
	s := state{dir: stateDir}
	if err := os.MkdirAll(stateDir, dirMode); err != nil {
		return s.unusable(err)
	}
	// The identity comes last: without it the directory is nobody's.
	for _, name := range []string{keyFile, renewalKeyFile, KubeconfigFile, retiredFile, identityFile} {
		if content := files[name]; len(content) > 0 {
			if err := s.write(name, content); err != nil {
				return err
			}
		}
	}
	return nil
}
