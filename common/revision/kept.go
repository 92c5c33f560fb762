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

// SecretType is the type of the Secrets in which revisions are kept. Such a Secret is never a
// template, and nobody but the hub writes one.
const SecretType corev1.SecretType = contract.Prefix + "revision"

// SecretKey is the key of the data of such a Secret.
const SecretKey = "revision"

// Bounds, in bytes.
const (
	// MaxEncoded is how long an encoded revision may be: what a Secret holds, with room for what
	// else is in it.
	MaxEncoded = corev1.MaxSecretSize - 16<<10
	// maxDecoded is how long it may be without compression. Templates are smaller than requests,
	// and there are some hundred of them at the most.
	maxDecoded = 64 << 20
)

// Errors of keeping revisions.
var (
	// ErrUnreadable says that the content of a revision is not kept any more, or is not what its ID
	// says: it moves nothing.
	ErrUnreadable = errors.New("the content of the revision cannot be read")
	// ErrTooLarge says that a revision does not fit into a Secret.
	ErrTooLarge = errors.New("the revision is too large")
	// ErrMismatch says that what is kept is not what its hash says: it moves nothing.
	ErrMismatch = errors.New("the content does not have the hash that the status of the rollout has")
)

// Kept is a revision as it is kept.
type Kept struct {
	Content
	// MadeAt is when its content was read. A revision that goes back to an older one has the time
	// of the older one.
	MadeAt metav1.Time `json:"madeAt"`
	// Strategy is the name of the RolloutStrategy that it goes by, and StrategySpec its body at that
	// time.
	Strategy     string                               `json:"strategy,omitempty"`
	StrategySpec fairleadv1alpha1.RolloutStrategySpec `json:"strategySpec"`
	// Waves are the waves of the time when it was made, with their clusters in their order.
	Waves []Wave `json:"waves,omitempty"`
	// Size is how many bytes it was decoded from; 0 if it was not.
	Size int `json:"-"`
	// Unshown says that the rules of ClusterOverridePolicies are not in it, since who asked may not read
	// them, so that nobody could check its hash: it is for people to look at, and moves nothing.
	Unshown bool `json:"-"`
}

// Wave is one step of the rollout of a revision.
type Wave struct {
	// Name of the wave.
	Name string `json:"name"`
	// Clusters are its clusters, in the order in which they are taken.
	Clusters []string `json:"clusters,omitempty"`
}

// SecretName is the name of the Secret of a revision of the rollout of a binding. It stands
// beside the binding, and in contract.ClusterNamespace if the binding is in no namespace. What whoever
// may read Secrets beside the binding is not to read is in another one: see RulesName.
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

// SecretNamespace is the namespace of the Secrets of the rollout of a binding.
func SecretNamespace(rollout metav1.Object) string {
	if rollout.GetNamespace() == "" {
		return contract.ClusterNamespace
	}
	return rollout.GetNamespace()
}

// SecretsOf returns the Secrets that keep a revision of a rollout, in the order in which they are to be
// written: the one of the rules of ClusterOverridePolicies if it has any (see RulesName), and the one of
// everything else, which goes with the rollout. The error is ErrTooLarge if a Secret does not hold what is
// to be in it.
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

// Encode returns a whole revision as one Secret keeps it. Equal revisions give equal bytes. The error
// is ErrTooLarge if no Secret holds it.
func Encode(k *Kept) ([]byte, error) { return pack(stored{Kept: k}) }

// stored is a revision as its Secret has it.
type stored struct {
	*Kept
	// RulesApart says that the rules of ClusterOverridePolicies are in another Secret. A hub of before does not
	// know that, and finds that the content does not have its hash.
	RulesApart bool `json:"rulesApart,omitempty"`
}

// Opened is a revision as its Secret has it. Whoever wrote that is not trusted, and nothing of it is believed
// that Check did not return.
type Opened struct{ stored stored }

// Open reads the Secret of a revision.
func Open(data []byte) (*Opened, error) {
	out := &Opened{stored: stored{Kept: &Kept{}}}
	if err := unpack(data, &out.stored); err != nil {
		return nil, err
	}
	out.stored.Size = len(data)
	return out, out.stored.complete()
}

// RulesApart says that Check needs what the Secret of the rules has, too.
func (o *Opened) RulesApart() bool { return o.stored.RulesApart }

// Check puts the revision together and returns it if its content has the hash of the ID; else the error is
// ErrMismatch. Rules is what the Secret of the rules has, if they are in one.
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

// Unchecked returns what is there without the rules of ClusterOverridePolicies, for people to look at.
func (o *Opened) Unchecked() *Kept {
	kept := *o.stored.Kept
	kept.Unshown = true
	return &kept
}

// Decode reads what Encode returned and checks that its content has the hash of the ID. Whoever
// wrote the Secret is not trusted: the error is ErrMismatch if it has not.
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

// complete says whether each part has an object.
func (k *Kept) complete() error {
	for _, p := range append([]Part{k.Main}, k.Dependents...) {
		if p.Object == nil || p.Object.GetKind() == "" || p.Object.GetName() == "" {
			return errors.New("a part of it has no object")
		}
	}
	return nil
}
