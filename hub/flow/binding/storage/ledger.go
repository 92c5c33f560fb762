package storage

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/bindings"
)

const (
	// perWork is about the size of a Work without its manifests, in bytes: labels, annotations and a status.
	perWork = 2 << 10
	// step is what sizes are rounded up to, in bytes, so that a few more replicas do not change a size.
	step = 4 << 10
	// reserve is the divisor of the limit that gives the extra room for moves to other clusters, during which the old copies stay.
	reserve = 4
)

// Ledger has the sizes of the Works of each namespace of templates. It does not count those of cluster-scoped templates, which
// administrators write, and Works without a binding. A nil Ledger counts nothing and rejects nothing. It is safe for concurrent use.
type Ledger struct {
	limit int64

	mu       sync.Mutex
	works    map[types.UID]entry
	accounts map[string]*account
}

// account is the total size of the Works of a namespace, in bytes.
type account struct{ taken int64 }

// entry is the size of one Work, in bytes, and its account.
type entry struct {
	account *account
	bytes   int64
}

// NewLedger returns an empty ledger. The limit is how many bytes the Works of one namespace may use; 0 means no limit.
func NewLedger(limit int64) *Ledger {
	return &Ledger{limit: limit, works: map[types.UID]entry{}, accounts: map[string]*account{}}
}

// Put records the size of a stored Work. It ignores Works without manifests, such as those in a cache that drops them.
func (l *Ledger) Put(work *workv1alpha1.Work) {
	key, ok := bindings.KeyOf(work)
	if l == nil || !ok || key.Namespace == "" || len(work.Spec.Workload.Manifests) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(work.UID)
	now := entry{account: l.account(key.Namespace), bytes: size(manifestsOf(work))}
	now.account.taken += now.bytes
	l.works[work.UID] = now
}

// Forget removes a deleted Work.
func (l *Ledger) Forget(uid types.UID) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(uid)
}

func (l *Ledger) forget(uid types.UID) {
	if of, ok := l.works[uid]; ok {
		of.account.taken -= of.bytes
		delete(l.works, uid)
	}
}

// Admit reserves the room for a Work, replacing the one with the UID, if any. The caller must call settle: with the Work as it was written,
// or with nil if it was not. It returns a *NoRoomError if there is no room. A Work that does not grow is always admitted, and one that
// moves to another cluster may exceed the limit by a quarter.
func (l *Ledger) Admit(work *workv1alpha1.Work, replaced types.UID, moves bool) (settle func(*workv1alpha1.Work), err error) {
	if !l.counts(work) {
		return l.settle(&account{}, 0), nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	of, more, err := l.room(work, manifestsOf(work), replaced, moves)
	if err != nil {
		return nil, err
	}
	of.taken += more
	return l.settle(of, more), nil
}

// Check returns the error that Admit would return for a Work with manifests of the given size, which it need not have, and reserves
// nothing.
func (l *Ledger) Check(work *workv1alpha1.Work, manifests int, replaced types.UID, moves bool) error {
	if !l.counts(work) {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _, err := l.room(work, manifests, replaced, moves)
	return err
}

// counts returns whether a Work is counted.
func (l *Ledger) counts(work *workv1alpha1.Work) bool {
	key, ok := bindings.KeyOf(work)
	return l != nil && ok && key.Namespace != ""
}

// room returns the account of a counted Work, and how much it would use more than the one with the UID, if there is room.
func (l *Ledger) room(work *workv1alpha1.Work, manifests int, replaced types.UID, moves bool) (of *account, more int64, err error) {
	key, _ := bindings.KeyOf(work)
	of = l.account(key.Namespace)
	more = max(0, size(manifests)-l.works[replaced].bytes)
	limit := l.limit
	if moves {
		limit += limit / reserve
	}
	if more > 0 && limit > 0 && of.taken+more > limit {
		return nil, 0, &NoRoomError{Namespace: key.Namespace, Taken: of.taken, More: more, Limit: limit}
	}
	return of, more, nil
}

// settle returns a function that releases the room reserved for a Work, which is counted itself from then on.
func (l *Ledger) settle(of *account, more int64) func(*workv1alpha1.Work) {
	return func(written *workv1alpha1.Work) {
		if l == nil {
			return
		}
		l.mu.Lock()
		of.taken -= more
		l.mu.Unlock()
		if written != nil {
			l.Put(written)
		}
	}
}

func (l *Ledger) account(namespace string) *account {
	of := l.accounts[namespace]
	if of == nil {
		of = &account{}
		l.accounts[namespace] = of
	}
	return of
}

// manifestsOf returns the size of a Work's manifests in bytes.
func manifestsOf(work *workv1alpha1.Work) int {
	bytes := 0
	for i := range work.Spec.Workload.Manifests {
		bytes += len(work.Spec.Workload.Manifests[i].Raw)
	}
	return bytes
}

// size returns the size of a Work with manifests of so many bytes.
func size(manifests int) int64 { return (int64(manifests) + perWork + step - 1) / step * step }

// NoRoomError means that the Works of a namespace use all that they may. All sizes are in bytes.
type NoRoomError struct {
	// Namespace is the namespace of the templates.
	Namespace string
	// Taken is what its Works use, and More what one of them would use in addition.
	Taken, More, Limit int64
}

// Error does not contain the used size: otherwise the message would change, and be reported again, with every other write.
func (e *NoRoomError) Error() string {
	return fmt.Sprintf("the Works of namespace %q for all clusters may take %s of the hub's database, and this Work would exceed that by %s",
		e.Namespace, quantity(e.Limit), quantity(e.Taken+e.More-e.Limit))
}

// quantity formats bytes with three digits.
func quantity(bytes int64) string {
	for _, unit := range []struct {
		suffix string
		bytes  int64
	}{{"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10}} {
		if bytes >= unit.bytes {
			return fmt.Sprintf("%.3g%s", float64(bytes)/float64(unit.bytes), unit.suffix)
		}
	}
	return resource.NewQuantity(bytes, resource.BinarySI).String()
}
