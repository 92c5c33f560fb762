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

// encryptedPrefix starts each value that kube-apiserver encrypted; the kind of the provider, its version, and the name
// of the key or KMS follow.
const encryptedPrefix = "k8s:enc:"

// Counts are the numbers of values that Check has checked.
type Counts struct {
	// Encrypted counts values that the hub's own keys decrypt.
	Encrypted int `json:"encrypted"`
	// Plain counts unencrypted values: they are from before the hub encrypted anything, or the operator disabled
	// encryption.
	Plain int `json:"plain"`
	// Foreign counts values that a provider of the operator encrypted.
	Foreign int `json:"foreign"`
}

// EachValue calls yield for each value of the database with a key prefix, until that fails.
type EachValue func(ctx context.Context, prefix string, yield func(key string, value []byte) error) error

// Check decrypts each value of Resources with the keys in a directory, or checks that one of the foreign providers
// encrypted it. A hub from before database encryption has no keys.
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

// ownTransformers returns decrypters with the keys in a directory; nil if there are none.
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
	// kube-apiserver's code only reads it from a file, which is removed after the check.
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

// ForeignPrefixes returns the prefixes of values that the operator's providers encrypt, whose keys the hub does not
// have, according to the configuration in a directory.
func ForeignPrefixes(dir string) ([]string, error) {
	data, err := os.ReadFile(filepath.Join(dir, configName)) //nolint:gosec // the path is our own
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
