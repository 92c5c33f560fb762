package encryption

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/storage/value"

	"sigs.k8s.io/yaml"

	"fairlead.dev/hub/machinery/controlplane/args"
)

// encryptedPrefix begins each value that kube-apiserver encrypted; the kind of the provider, its version, and the name of the key or of the
// KMS follow.
const encryptedPrefix = "k8s:enc:"

// Counts are the numbers of values that Check looked at.
type Counts struct {
	// Encrypted counts values that the keys of the hub decrypt.
	Encrypted int `json:"encrypted"`
	// Plain counts values that nothing encrypts: they are from before the hub encrypted anything, or it was told not to.
	Plain int `json:"plain"`
	// Foreign counts values that a provider of the operator's encrypts.
	Foreign int `json:"foreign"`
}

// EachValue calls yield with each value of the database below a prefix, until that fails.
type EachValue func(ctx context.Context, prefix string, yield func(key string, value []byte) error) error

// Check decrypts each value of Resources with the keys of a directory, or finds out that one of the foreign providers encrypted it. A hub of
// before it encrypted anything has no keys.
func Check(ctx context.Context, dir string, foreign []string, get EachValue) (Counts, error) {
	var counts Counts
	transformers, err := ownTransformers(ctx, dir)
	if err != nil {
		return counts, err
	}
	for _, resource := range Resources() {
		err := get(ctx, resourcePrefix(args.DefaultEtcdPrefix, resource), func(key string, data []byte) error {
			switch {
			case !bytes.HasPrefix(data, []byte(encryptedPrefix)):
				counts.Plain++
				return nil
			case slices.ContainsFunc(foreign, func(provider string) bool { return bytes.HasPrefix(data, []byte(provider)) }):
				counts.Foreign++
				return nil
			case transformers == nil:
				return fmt.Errorf("%s is encrypted, and there is no key", key)
			}
			if _, _, err := transformers.TransformerForResource(resource).TransformFromStorage(ctx, data, value.DefaultContext(key)); err != nil {
				return fmt.Errorf("%s cannot be decrypted with the keys of the hub: %w", key, err)
			}
			counts.Encrypted++
			return nil
		})
		if err != nil {
			return counts, err
		}
	}
	return counts, nil
}

// ownTransformers decrypt with the keys of a directory; nil if there are none.
func ownTransformers(ctx context.Context, dir string) (value.ResourceTransformers, error) {
	keys, err := ReadKeys(dir)
	if errors.Is(err, ErrNoKeys) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	config, err := OwnConfig(keys)
	if err != nil {
		return nil, err
	}
	// kube-apiserver's code reads it from a file only. It is removed when all is decrypted that is to be.
	path := filepath.Join(dir, "check.yaml")
	if err := os.WriteFile(path, config.Data, 0o600); err != nil {
		return nil, fmt.Errorf("writing the configuration of encryption: %w", err)
	}
	defer func() { _ = os.Remove(path) }()
	loaded, err := encryptionconfig.LoadEncryptionConfig(ctx, path, false, "check")
	if err != nil {
		return nil, fmt.Errorf("reading the configuration of encryption: %w", err)
	}
	return encryptionconfig.StaticTransformers(loaded.Transformers), nil
}

// ForeignPrefixes returns how values begin that providers of the operator's own encrypt, whose keys the hub does not have, by the
// configuration that a directory goes by.
func ForeignPrefixes(dir string) ([]string, error) {
	data, err := os.ReadFile(filepath.Join(dir, configName)) //nolint:gosec // a name of ours
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the configuration of encryption: %w", err)
	}
	config := &apiserverv1.EncryptionConfiguration{}
	if err := yaml.Unmarshal(data, config); err != nil {
		return nil, fmt.Errorf("reading the configuration of encryption: %w", err)
	}
	own, err := ReadKeys(dir)
	if err != nil && !errors.Is(err, ErrNoKeys) {
		return nil, err
	}
	var out []string
	add := func(kind string, keys []apiserverv1.Key) {
		for _, key := range keys {
			if !slices.ContainsFunc(own, func(k Key) bool { return k.Name == key.Name }) {
				out = append(out, encryptedPrefix+kind+":"+key.Name+":")
			}
		}
	}
	for _, entry := range config.Resources {
		for _, p := range entry.Providers {
			switch {
			case p.KMS != nil:
				out = append(out, encryptedPrefix+"kms:"+p.KMS.APIVersion+":"+p.KMS.Name+":")
			case p.Secretbox != nil:
				add("secretbox:v1", p.Secretbox.Keys)
			case p.AESGCM != nil:
				add("aesgcm:v1", p.AESGCM.Keys)
			case p.AESCBC != nil:
				add("aescbc:v1", p.AESCBC.Keys)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
