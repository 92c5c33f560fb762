package encryption

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"

	"sigs.k8s.io/yaml"
)

// Resources returns the resources that are encrypted: those that contain Secrets, or copies of them.
func Resources() []schema.GroupResource {
	return []schema.GroupResource{
		{Resource: "secrets"},
		{Resource: "configmaps"},
		{Group: "work.karmada.io", Resource: "works"},
		{Group: "policy.karmada.io", Resource: "overridepolicies"},
		{Group: "policy.karmada.io", Resource: "clusteroverridepolicies"},
	}
}

// Config is an encryption configuration as kube-apiserver reads it.
type Config struct {
	// Data is the content of the file.
	Data []byte
	// Digest identifies the content.
	Digest string
}

// OwnConfig renders the configuration for the hub's own keys.
func OwnConfig(keys Keys) (Config, error) {
	return render(&apiserverv1.EncryptionConfiguration{}, keys)
}

// OperatorConfig renders the operator's configuration, and adds the hub's own keys: to decrypt what they encrypted, and
// to encrypt resources that the operator's configuration does not name.
func OperatorConfig(path string, keys Keys) (Config, error) {
	data, err := os.ReadFile(path) //nolint:gosec // the operator's own file
	if err != nil {
		return Config{}, fmt.Errorf("--encryption-provider-config: %w", err)
	}
	given := &apiserverv1.EncryptionConfiguration{}
	if err := yaml.UnmarshalStrict(data, given); err != nil {
		return Config{}, fmt.Errorf("--encryption-provider-config %s is no EncryptionConfiguration of apiserver.config.k8s.io/v1: %w", path, err)
	}
	if given.Kind != "EncryptionConfiguration" || given.APIVersion != apiserverv1.SchemeGroupVersion.String() {
		return Config{}, fmt.Errorf("--encryption-provider-config %s is %s of %s, not EncryptionConfiguration of %s", path, given.Kind, given.APIVersion, apiserverv1.SchemeGroupVersion)
	}
	if len(given.Resources) == 0 {
		return Config{}, fmt.Errorf("--encryption-provider-config %s names no resources", path)
	}
	for _, entry := range given.Resources {
		if len(entry.Providers) == 0 {
			return Config{}, fmt.Errorf("--encryption-provider-config %s names no providers for %s", path, strings.Join(entry.Resources, ", "))
		}
	}
	return render(given, keys)
}

func render(given *apiserverv1.EncryptionConfiguration, keys Keys) (Config, error) {
	if len(keys) == 0 {
		return Config{}, ErrNoKeys
	}
	own := apiserverv1.ProviderConfiguration{Secretbox: &apiserverv1.SecretboxConfiguration{}}
	for _, key := range keys {
		own.Secretbox.Keys = append(own.Secretbox.Keys, apiserverv1.Key{Name: key.Name, Secret: base64.StdEncoding.EncodeToString(key.Secret)})
	}
	plain := apiserverv1.ProviderConfiguration{Identity: &apiserverv1.IdentityConfiguration{}}

	out := &apiserverv1.EncryptionConfiguration{TypeMeta: metav1.TypeMeta{Kind: "EncryptionConfiguration", APIVersion: apiserverv1.SchemeGroupVersion.String()}}
	ours := apiserverv1.ResourceConfiguration{Providers: []apiserverv1.ProviderConfiguration{own, plain}}
	for _, resource := range Resources() {
		if !slices.ContainsFunc(given.Resources, func(entry apiserverv1.ResourceConfiguration) bool { return covers(entry.Resources, resource) }) {
			ours.Resources = append(ours.Resources, resource.String())
		}
	}
	for _, entry := range given.Resources {
		entry.Providers = append(slices.Clone(entry.Providers), own)
		if !slices.ContainsFunc(entry.Providers, func(p apiserverv1.ProviderConfiguration) bool { return p.Identity != nil }) {
			entry.Providers = append(entry.Providers, plain)
		}
		out.Resources = append(out.Resources, entry)
	}
	if len(ours.Resources) > 0 {
		out.Resources = append(out.Resources, ours)
	}
	data, err := yaml.Marshal(out)
	if err != nil {
		return Config{}, fmt.Errorf("encoding the configuration of encryption: %w", err)
	}
	sum := sha256.Sum256(data)
	return Config{Data: data, Digest: hex.EncodeToString(sum[:])}, nil
}

// covers says whether a list in kube-apiserver's syntax, with wildcards, names a resource.
func covers(names []string, resource schema.GroupResource) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		named := schema.ParseGroupResource(name)
		return named == resource || name == "*.*" || named.Resource == "*" && named.Group == resource.Group
	})
}

// sealed records how everything is encrypted, once it is.
type sealed struct {
	// Digest is the digest of the configuration.
	Digest string `json:"digest"`
	// Key is the hub's own key, which encrypts what the operator's providers do not.
	Key string `json:"key"`
}

var errSealed = errors.New("reading what was encrypted")

func decodeSealed(data []byte) (sealed, error) {
	var s sealed
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("%w: %w", errSealed, err)
	}
	return s, nil
}
