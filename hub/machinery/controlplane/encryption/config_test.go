package encryption

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"

	"sigs.k8s.io/yaml"
)

// writers returns which provider encrypts each resource of a configuration, and fails if the keys of the hub cannot
// decrypt it.
func writers(t *testing.T, config Config, key string) map[string]string {
	t.Helper()
	parsed := &apiserverv1.EncryptionConfiguration{}
	if err := yaml.UnmarshalStrict(config.Data, parsed); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, entry := range parsed.Resources {
		own := slices.ContainsFunc(entry.Providers, func(p apiserverv1.ProviderConfiguration) bool {
			return p.Secretbox != nil && p.Secretbox.Keys[0].Name == key
		})
		plain := slices.ContainsFunc(entry.Providers, func(p apiserverv1.ProviderConfiguration) bool { return p.Identity != nil })
		if !own || !plain {
			t.Errorf("%v cannot read what was written by the key of the hub (%t), or before there was one (%t)", entry.Resources, own, plain)
		}
		for _, resource := range entry.Resources {
			switch first := entry.Providers[0]; {
			case first.KMS != nil:
				out[resource] = first.KMS.Name
			case first.Identity != nil:
				out[resource] = "nothing"
			default:
				out[resource] = "own"
			}
		}
	}
	return out
}

func TestConfigNamesTheProviderOfEachResource(t *testing.T) {
	t.Parallel()
	const (
		head = "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n"
		kms  = "  providers: [{kms: {apiVersion: v2, name: vault, endpoint: unix:///vault.sock}}]\n"
		none = "  providers: [{identity: {}}]\n"
	)
	dir := t.TempDir()
	keys, err := EnsureKeys(dir, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		given string
		want  map[string]string
	}{
		"the key of the hub all of them": {"", map[string]string{
			"secrets": "own", "configmaps": "own", "works.work.karmada.io": "own", "overridepolicies.policy.karmada.io": "own", "clusteroverridepolicies.policy.karmada.io": "own",
		}},
		"a KMS what the operator names, the key of the hub the rest": {head + "- resources: [secrets, works.work.karmada.io]\n" + kms, map[string]string{
			"secrets": "vault", "works.work.karmada.io": "vault", "configmaps": "own", "overridepolicies.policy.karmada.io": "own", "clusteroverridepolicies.policy.karmada.io": "own",
		}},
		"a KMS everything":   {head + "- resources: ['*.*']\n" + kms, map[string]string{"*.*": "vault"}},
		"a KMS a group":      {head + "- resources: ['*.policy.karmada.io', '*.']\n" + kms, map[string]string{"*.policy.karmada.io": "vault", "*.": "vault", "works.work.karmada.io": "own"}},
		"nothing, as before": {head + "- resources: ['*.*']\n" + none, map[string]string{"*.*": "nothing"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, err := OwnConfig(keys)
			if tc.given != "" {
				path := filepath.Join(t.TempDir(), "given.yaml")
				if err := os.WriteFile(path, []byte(tc.given), 0o600); err != nil {
					t.Fatal(err)
				}
				config, err = OperatorConfig(path, keys)
			}
			if err != nil {
				t.Fatal(err)
			}
			got := writers(t, config, keys[0].Name)
			if len(got) != len(tc.want) {
				t.Errorf("encrypted: %v, want %v", got, tc.want)
			}
			for resource, want := range tc.want {
				if got[resource] != want {
					t.Errorf("%s is encrypted by %q, want %q", resource, got[resource], want)
				}
			}
		})
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := Open(dir, "", time.Unix(0, 0))
	if err != nil || first.Done {
		t.Fatalf("a new directory: %+v, %v", first, err)
	}
	if err := first.Finish(); err != nil {
		t.Fatal(err)
	}
	if again, err := Open(dir, "", time.Unix(1, 0)); err != nil || !again.Done || again.Config.Digest != first.Config.Digest {
		t.Errorf("opened again: %+v, %v", again, err)
	}
	if err := Rotate(dir, time.Unix(2, 0)); err != nil {
		t.Fatal(err)
	}
	rotated, err := Open(dir, "", time.Unix(3, 0))
	if err != nil || rotated.Done || len(rotated.keys) != 2 || rotated.keys[1].Name != first.keys[0].Name {
		t.Fatalf("after a rotation: %+v, %v", rotated, err)
	}
	if err := rotated.Finish(); err != nil || len(rotated.keys) != 1 || rotated.keys[0].Name == first.keys[0].Name {
		t.Errorf("after everything was encrypted anew: %+v, %v", rotated.keys, err)
	}
	if err := os.WriteFile(filepath.Join(dir, KeysName), []byte(`{"keys":[{"name":"short","secret":"c2hvcnQ="}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, "", time.Unix(4, 0)); err == nil {
		t.Error("a key that was cut short is taken")
	}
}
