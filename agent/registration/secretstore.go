package registration

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
)

// SecretStore also saves an agent's credentials in a Secret of its member, since a new pod starts with an empty
// directory.
type SecretStore struct {
	memberClient client.Client
	key          types.NamespacedName
	// saved is the content of the Secret at resourceVersion version. If version is empty, saved is the content seen
	// last, and the Secret has changed since; nil if it was never seen.
	saved   map[string][]byte
	version string
	// recheck makes the next Save read the Secret although nothing has to be saved.
	recheck bool
}

// saveTries bounds the retries after conflicts with other writers of the Secret.
const saveTries = 5

// OpenSecretStore returns the store for a Secret, given as NAMESPACE/NAME.
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

// Restore fills an empty state directory from the Secret. If a cluster is given, an unfinished join as another
// cluster is ignored.
//
// The directory is older than the Secret only if `agent join --install` has joined again since: the hub has then
// revoked the directory's credentials, and the Secret replaces them.
func (m *SecretStore) Restore(ctx context.Context, stateDir, cluster string) error {
	kept, err := Files(stateDir)
	if err != nil {
		return err
	}
	secret, err := m.read(ctx)
	if err != nil && len(kept) > 0 {
		if !apierrors.IsNotFound(err) {
			ctrl.LoggerFrom(ctx).Error(err, "Using the state directory, because the Secret of the agent cannot be read in the member", "Secret", m.key)
		}
		return nil // the agent may start while its member is down
	}
	if err != nil {
		return err
	}
	if len(kept) > 0 {
		if joinedAgain(secret.Data, kept) {
			m.take(secret)
			return replaceFiles(stateDir, secret.Data)
		}
		return m.merge(secret, stateDir, kept)
	}
	m.take(secret)
	if other, unfinished := Unfinished(secret.Data); unfinished && cluster != "" && other != cluster {
		return nil
	}
	return WriteFiles(stateDir, secret.Data)
}

// has returns whether the Secret is known to contain the files of the directory.
func (m *SecretStore) has(stateDir string) bool {
	files, err := Files(stateDir)
	return err == nil && maps.EqualFunc(files, m.saved, bytes.Equal)
}

// Superseded returns an ErrJoinedAgain if the Secret is of a later join than the directory.
func (m *SecretStore) Superseded(ctx context.Context, stateDir string) error {
	files, err := Files(stateDir)
	if err != nil {
		return err
	}
	secret, err := m.read(ctx)
	if err != nil {
		return err
	}
	return m.superseded(secret, files)
}

func (m *SecretStore) superseded(secret *corev1.Secret, files map[string][]byte) error {
	again := joinedAgain(secret.Data, files)
	if m.saved != nil {
		// Certificates are not compared by time, since the hub's clock may have been set back: a join that this agent
		// has not seen in the Secret is new.
		again = isOtherJoin(secret.Data, files) && !isSameJoin(secret.Data, m.saved)
	}
	if !again {
		return nil
	}
	return fmt.Errorf("%w: Secret %s has a later join; start this agent again to use it", ErrJoinedAgain, m.key)
}

// Recheck makes the next Save read the Secret: it may have been deleted, or restored to an older state with the
// member.
func (m *SecretStore) Recheck() { m.recheck = true }

// Save writes the files of the directory to the Secret. If the Secret is of a later join, which only a starting agent
// takes over, Save does not change it and returns an ErrJoinedAgain.
func (m *SecretStore) Save(ctx context.Context, stateDir string) error {
	var err error
	for range saveTries {
		var files map[string][]byte
		if files, err = Files(stateDir); err != nil {
			return err
		}
		if maps.EqualFunc(files, m.saved, bytes.Equal) && !m.recheck {
			return nil
		}
		if m.version == "" || m.recheck {
			secret, err := m.read(ctx)
			if err != nil {
				return err
			}
			if m.version != "" && contract.Older(secret.ResourceVersion, m.version) && !joinedAgain(secret.Data, files) {
				m.take(secret) // the member was restored, so its Secret is outdated, unless somebody has joined since
			} else if err := m.superseded(secret, files); err != nil {
				return err
			} else if err := m.merge(secret, stateDir, files); err != nil {
				return err
			}
			m.recheck = false
			continue
		}
		if err = m.patch(ctx, files); !apierrors.IsConflict(err) {
			return err
		}
		m.version = "" // somebody else has written the Secret
	}
	return err
}

// patch writes these files to the Secret, unless it has changed since it was read.
func (m *SecretStore) patch(ctx context.Context, files map[string][]byte) error {
	data := map[string]any{}
	for name := range m.saved {
		data[name] = nil // removed, unless it is set below
	}
	for name, content := range files {
		data[name] = content
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": m.version}, "data": data})
	if err != nil {
		return fmt.Errorf("encoding the state of the agent: %w", err)
	}
	secret := &corev1.Secret{}
	secret.Namespace, secret.Name = m.key.Namespace, m.key.Name
	if err := m.memberClient.Patch(ctx, secret, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(contract.FieldManagerAgent)); err != nil {
		return fmt.Errorf("keeping the state of the agent in Secret %s of the member: %w", m.key, err)
	}
	m.saved, m.version = files, secret.ResourceVersion
	return nil
}

// read reads the Secret.
func (m *SecretStore) read(ctx context.Context) (*corev1.Secret, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	secret := &corev1.Secret{}
	if err := m.memberClient.Get(ctx, m.key, secret); err != nil {
		return nil, fmt.Errorf("reading the state of the agent from Secret %s of the member: %w", m.key, err)
	}
	return secret, nil
}

// take records the content of the Secret.
func (m *SecretStore) take(secret *corev1.Secret) {
	m.saved, m.version = secret.Data, secret.ResourceVersion
	if m.saved == nil {
		m.saved = map[string][]byte{} // empty, but seen
	}
}

// merge records the content of a Secret of the same join as a directory with these files, and takes over what others
// wrote there since: settings changed by a join that had nothing else to do, and the key of a pending join.
func (m *SecretStore) merge(secret *corev1.Secret, stateDir string, files map[string][]byte) error {
	before := m.saved
	m.take(secret)
	if files[keyFile] == nil && !isFinished(secret.Data[keyFile], files) {
		delete(m.saved, keyFile) // `agent join --install` has begun a join with it and must find it again
	}
	return state{dir: stateDir}.adoptIdentity(identityIn(before), identityIn(secret.Data))
}
