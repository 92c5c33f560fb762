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
