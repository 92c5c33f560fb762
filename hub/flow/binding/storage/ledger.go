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
	// perWork is about what a Work takes beside its manifests, in bytes: labels, annotations and a status.
	perWork = 2 << 10
	// step is what sizes are rounded up to, in bytes: a few replicas more are not another size.
	step = 4 << 10
	// reserve is the part of the limit that is beside it for what moves to another cluster: until it runs there, the old copy stays.
	reserve = 4
)

// Ledger has what the Works of each namespace of templates take. Those of cluster-scoped templates, which administrators
// write, and Works that no binding has made are not counted. Nil counts nothing and refuses nothing. It is safe for use by many.
type Ledger struct {
	limit int64

	mu       sync.Mutex
	works    map[types.UID]entry
	accounts map[string]*account
}

// account is what the Works of a namespace take, in bytes.
type account struct{ taken int64 }

// entry is what one Work takes, in bytes, and of which account.
type entry struct {
	account *account
	bytes   int64
}

// NewLedger returns an empty one. The limit is how many bytes the Works of one namespace may take; 0 for any number.
func NewLedger(limit int64) *Ledger {
	return &Ledger{limit: limit, works: map[types.UID]entry{}, accounts: map[string]*account{}}
}

// Put notes what a Work takes that is in the database. Of one whose manifests were dropped, as a cache drops them, it learns nothing.
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

// Forget notes that a Work is gone.
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

// Admit takes the room that a Work needs, in place of that with the UID, if any, until what it returns is called: with the Work as it was
// written, or with nil if it was not. It returns a *NoRoomError if there is none. What becomes no larger may always be written, and what
// moves to another cluster may take a quarter more than the limit.
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

// Check says what Admit would say of a Work whose manifests have so many bytes, of which it need not have any, and takes no room.
func (l *Ledger) Check(work *workv1alpha1.Work, manifests int, replaced types.UID, moves bool) error {
	if !l.counts(work) {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _, err := l.room(work, manifests, replaced, moves)
	return err
}

// counts says whether a Work is one of those that are counted.
func (l *Ledger) counts(work *workv1alpha1.Work) bool {
	key, ok := bindings.KeyOf(work)
	return l != nil && ok && key.Namespace != ""
}

// room returns the account of a Work that is counted, and what it would take there more than that with the UID, if there is room.
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

// settle returns what gives room back that was taken for a Work, which counts itself from then on.
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

// manifestsOf is how many bytes the manifests of a Work have.
func manifestsOf(work *workv1alpha1.Work) int {
	bytes := 0
	for i := range work.Spec.Workload.Manifests {
		bytes += len(work.Spec.Workload.Manifests[i].Raw)
	}
	return bytes
}

// size is what a Work takes with manifests of so many bytes, in bytes.
func size(manifests int) int64 { return (int64(manifests) + perWork + step - 1) / step * step }

// NoRoomError says that the Works of a namespace take as much of the database as they may. All are in bytes.
type NoRoomError struct {
	// Namespace is that of the templates.
	Namespace string
	// Taken is what its Works take, and More what one of them would take beside that.
	Taken, More, Limit int64
}

// Error does not say what is taken: it would be another sentence, to be told anew, each time something else is written.
func (e *NoRoomError) Error() string {
	return fmt.Sprintf("what is sent of namespace %q may take %s of the hub's database with all its clusters, and this would take %s more than there is room for",
		e.Namespace, quantity(e.Limit), quantity(e.Taken+e.More-e.Limit))
}

// quantity writes bytes as people do, to three digits.
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
