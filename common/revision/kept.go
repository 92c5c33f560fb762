package revision

import (
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/contract"
)

// SecretType is the type of the Secrets that store revisions. Such a Secret is never a template, and only the hub
// writes one.
const SecretType corev1.SecretType = contract.Prefix + "revision"

// SecretKey is the data key in such a Secret.
const SecretKey = "revision"

// Bounds, in bytes.
const (
	// MaxEncoded bounds an encoded revision: the capacity of a Secret, minus room for its other fields.
	MaxEncoded = corev1.MaxSecretSize - 16<<10
	// maxDecoded bounds an uncompressed revision. Templates are smaller than requests, and there are a few hundred at
	// most.
	maxDecoded = 64 << 20
)

// Errors about stored revisions.
var (
	// ErrUnreadable says that the content of a revision is not stored any more, or does not match its ID: nothing is
	// moved to it.
	ErrUnreadable = errors.New("the content of the revision cannot be read")
	// ErrTooLarge says that a revision does not fit into a Secret.
	ErrTooLarge = errors.New("the revision is too large")
	// ErrMismatch says that the stored content does not match its hash: nothing is moved to it.
	ErrMismatch = errors.New("the content does not have the hash that the status of the rollout has")
)

// Kept is a stored revision.
type Kept struct {
	Content
	// MadeAt is when its content was read. A revision that goes back to an older one has the time of the older one.
	MadeAt metav1.Time `json:"madeAt"`
	// Strategy is the name of its RolloutStrategy, and StrategySpec the strategy's spec at that time.
	Strategy     string                               `json:"strategy,omitempty"`
	StrategySpec fairleadv1alpha1.RolloutStrategySpec `json:"strategySpec"`
	// Waves are the waves at the time it was made, with their clusters in order.
	Waves []Wave `json:"waves,omitempty"`
	// Size is the number of bytes from which it was decoded; 0 if it was not.
	Size int `json:"-"`
	// Unshown says that the rules of ClusterOverridePolicies are missing because the reader may not read them, so
	// that the hash could not be verified: it is for display only, and nothing is moved to it.
	Unshown bool `json:"-"`
}

// Wave is one step of a revision's rollout.
type Wave struct {
	// Name is the name of the wave.
	Name string `json:"name"`
	// Clusters are its clusters, in the order in which they are updated.
	Clusters []string `json:"clusters,omitempty"`
}

// SecretName returns the name of the Secret for a revision of a binding's rollout. It is in the binding's namespace,
// or in contract.ClusterNamespace if the binding is cluster-scoped. Content that readers of Secrets in that namespace
// may not read is in another Secret: see RulesName.
func SecretName(rollout metav1.Object, number int64) string {
	prefix, suffix := "rollout-", "-r"+strconv.FormatInt(number, 10)
	if rollout.GetNamespace() == "" {
		prefix = "clusterrollout-"
	}
	name := rollout.GetName()
	if longest := 253 - len(prefix) - len(suffix); len(name) > longest {
		hash := "-" + contract.Hash(name)
		name = name[:longest-len(hash)] + hash
	}
	return prefix + name + suffix
}

// SecretNamespace returns the namespace of the Secrets of a binding's rollout.
func SecretNamespace(rollout metav1.Object) string {
	if rollout.GetNamespace() == "" {
		return contract.ClusterNamespace
	}
	return rollout.GetNamespace()
}

// SecretsOf returns the Secrets that store a revision of a rollout, in the order in which to write them: the one with
// the rules of ClusterOverridePolicies, if there are any (see RulesName), and the one with everything else, which is
// deleted with the rollout. The error is ErrTooLarge if the content does not fit.
func SecretsOf(rollout metav1.Object, number int64, kept *Kept) ([]*corev1.Secret, error) {
	kind := fairleadv1alpha1.KindClusterStagedRollout
	var out []*corev1.Secret
	s := stored{Kept: kept}
	if rollout.GetNamespace() != "" {
		kind = fairleadv1alpha1.KindStagedRollout
		if rest, rules := kept.withoutClusterRules(); rules != nil {
			secret, err := rulesSecret(rollout, number, kept.Content, rules)
			if err != nil {
				return nil, err
			}
			out = append(out, secret)
			others := *kept
			others.Content = rest
			s = stored{Kept: &others, RulesApart: true}
		}
	}
	data, err := pack(s)
	if err != nil {
		return nil, err
	}
	return append(out, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: SecretNamespace(rollout), Name: SecretName(rollout, number),
			Labels: map[string]string{contract.SystemLabel: contract.LabelTrue},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: fairleadv1alpha1.GroupVersion.String(), Kind: kind, Name: rollout.GetName(), UID: rollout.GetUID(), Controller: new(true),
			}},
		},
		Type: SecretType, Immutable: new(true), Data: map[string][]byte{SecretKey: data},
	}), nil
}

// Encode encodes a whole revision for one Secret. Equal revisions yield equal bytes. The error is ErrTooLarge if it
// does not fit.
func Encode(k *Kept) ([]byte, error) { return pack(stored{Kept: k}) }

// stored is the encoded form of a revision.
type stored struct {
	*Kept
	// RulesApart says that the rules of ClusterOverridePolicies are in another Secret. An older hub does not know the
	// field, and finds that the content does not match its hash.
	RulesApart bool `json:"rulesApart,omitempty"`
}

// Opened is a decoded revision that has not been verified. The writer of the Secret is not trusted: only what Check
// returns may be used.
type Opened struct{ stored stored }

// Open decodes the Secret of a revision.
func Open(data []byte) (*Opened, error) {
	out := &Opened{stored: stored{Kept: &Kept{}}}
	if err := unpack(data, &out.stored); err != nil {
		return nil, err
	}
	out.stored.Size = len(data)
	return out, out.stored.complete()
}

// RulesApart returns whether Check needs the content of the Secret with the rules.
func (o *Opened) RulesApart() bool { return o.stored.RulesApart }

// Check assembles the revision and returns it if its content has the hash of the ID; otherwise the error is
// ErrMismatch. rules is the content of the Secret with the rules, if there is one.
func (o *Opened) Check(id ID, rules []byte) (*Kept, error) {
	kept := *o.stored.Kept
	if o.stored.RulesApart {
		var err error
		if kept.Content, err = kept.withClusterRules(rules); err != nil {
			return nil, err
		}
		kept.Size += len(rules)
	}
	hash, err := kept.Hash()
	if err != nil {
		return nil, err
	}
	if hash != id.Hash {
		return nil, fmt.Errorf("%w: %q", ErrMismatch, hash)
	}
	return &kept, nil
}

// Unchecked returns the content without the rules of ClusterOverridePolicies, for display.
func (o *Opened) Unchecked() *Kept {
	kept := *o.stored.Kept
	kept.Unshown = true
	return &kept
}

// Decode decodes the result of Encode and verifies the hash of the ID. The writer of the Secret is not trusted: the
// error is ErrMismatch if the hash differs.
func Decode(data []byte, id ID) (*Kept, error) {
	opened, err := Open(data)
	if err != nil {
		return nil, fmt.Errorf("reading revision %s: %w", id, err)
	}
	kept, err := opened.Check(id, nil)
	if err != nil {
		return nil, fmt.Errorf("reading revision %s: %w", id, err)
	}
	return kept, nil
}

// complete returns an error unless each part has an object.
func (k *Kept) complete() error {
	for _, p := range append([]Part{k.Main}, k.Dependents...) {
		if p.Object == nil || p.Object.GetKind() == "" || p.Object.GetName() == "" {
			return errors.New("a part of it has no object")
		}
	}
	return nil
}
