package revision

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"

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
	// Waves are those of the time when it was made, with their clusters in their order.
	Waves []Wave `json:"waves,omitempty"`
	// Size is how many bytes it was decoded from; 0 if it was not.
	Size int `json:"-"`
}

// Wave is one step of the rollout of a revision.
type Wave struct {
	// Name of the wave.
	Name string `json:"name"`
	// Clusters are its clusters, in the order in which they are taken.
	Clusters []string `json:"clusters,omitempty"`
}

// SecretName is the name of the Secret of a revision of the rollout of a binding. It stands
// beside the binding, and in contract.ClusterNamespace if the binding is in no namespace.
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

// SecretOf returns the Secret that keeps a revision of a rollout. It goes with the rollout. The error
// is ErrTooLarge if no Secret holds the revision.
func SecretOf(rollout metav1.Object, number int64, kept *Kept) (*corev1.Secret, error) {
	data, err := Encode(kept)
	if err != nil {
		return nil, err
	}
	kind := fairleadv1alpha1.KindStagedRollout
	if rollout.GetNamespace() == "" {
		kind = fairleadv1alpha1.KindClusterStagedRollout
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: SecretNamespace(rollout), Name: SecretName(rollout, number),
			Labels: map[string]string{contract.SystemLabel: contract.LabelTrue},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: fairleadv1alpha1.GroupVersion.String(), Kind: kind, Name: rollout.GetName(), UID: rollout.GetUID(), Controller: new(true),
			}},
		},
		Type: SecretType, Immutable: new(true), Data: map[string][]byte{SecretKey: data},
	}, nil
}

// Encode returns what a Secret keeps of a revision. Equal revisions give equal bytes. The error
// is ErrTooLarge if no Secret holds it.
func Encode(k *Kept) ([]byte, error) {
	plain, err := json.Marshal(k)
	if err != nil {
		return nil, fmt.Errorf("encoding a revision: %w", err)
	}
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	if _, err := zip.Write(plain); err != nil {
		return nil, fmt.Errorf("compressing a revision: %w", err)
	}
	if err := zip.Close(); err != nil {
		return nil, fmt.Errorf("compressing a revision: %w", err)
	}
	if out.Len() > MaxEncoded || len(plain) > maxDecoded {
		return nil, fmt.Errorf("%w: it has %d bytes when compressed, and may have %d", ErrTooLarge, out.Len(), MaxEncoded)
	}
	return out.Bytes(), nil
}

// Decode reads what Encode returned and checks that its content has the hash of the ID. Whoever
// wrote the Secret is not trusted: the error is ErrMismatch if it has not.
func Decode(data []byte, id ID) (*Kept, error) {
	if len(data) > MaxEncoded {
		return nil, ErrTooLarge
	}
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("reading revision %s: %w", id, err)
	}
	plain, err := io.ReadAll(io.LimitReader(zip, maxDecoded+1))
	if err != nil {
		return nil, fmt.Errorf("reading revision %s: %w", id, err)
	}
	if len(plain) > maxDecoded {
		return nil, ErrTooLarge
	}
	out := &Kept{Size: len(data)}
	if err := json.Unmarshal(plain, out); err != nil {
		return nil, fmt.Errorf("reading revision %s: %w", id, err)
	}
	if err := out.complete(); err != nil {
		return nil, fmt.Errorf("reading revision %s: %w", id, err)
	}
	hash, err := out.Hash()
	if err != nil {
		return nil, fmt.Errorf("reading revision %s: %w", id, err)
	}
	if hash != id.Hash {
		return nil, fmt.Errorf("reading revision %s: %w: %q", id, ErrMismatch, hash)
	}
	return out, nil
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
