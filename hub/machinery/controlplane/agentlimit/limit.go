package agentlimit

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/utils/clock"
)

const (
	// agents is the group of all agents, and tokens the prefix of the groups of join token holders, as in the contract
	// of hub and agents.
	agents = "system:karmada:agents"
	tokens = "system:bootstrappers"
	// maxStatus is the maximum size of an agent's status in bytes. An object may have 1.5 MiB, of which the hub needs
	// the rest.
	maxStatus = 768 << 10
	// maxObject is the maximum size in bytes of an event, a lease or a certificate request of a member, including
	// managedFields and everything that no policy bounds. Legitimate ones take at most a third.
	maxObject = 16 << 10
	// burst is how many bytes an agent may send at once, and stored how many the database may have to write for it. The
	// database writes the whole object each time, including the manifests, which are not the agent's doing. So an agent
	// that reports once or twice on each of thousands of large Works hardly has to wait. An attacker who rewrites small
	// statuses of large Works grows the database file by less than 1.5 GiB until old revisions are compacted, after
	// five to ten minutes, and the API server's watch cache, which covers the last 75 seconds, by 400 MiB. perSecond
	// and storedPerSecond are the rates at which the budgets are refilled.
	burst           = 64 << 20
	perSecond       = 1 << 20
	stored          = 256 << 20
	storedPerSecond = 2 << 20
	// record is how many bytes each write of a status or a finalizer counts in addition to its content: for its key,
	// and for what is sent to watchers.
	record = 512
	// sweep is how often agents with a full budget are dropped.
	sweep = time.Minute
)

// Limit is an admission chain behind the limits for agents.
type Limit struct {
	next  admission.Interface
	clock clock.PassiveClock

	mu sync.Mutex
	// left has the remaining budget of each agent and join token that wrote recently, by user name. There is one agent
	// per cluster.
	left  map[string]budget
	swept time.Time
}

// budget limits the bytes that an agent may send, and that may be stored for it.
type budget struct{ sent, stored *rate.Limiter }

// New returns the chain with the limits in front of it.
func New(next admission.Interface, at clock.PassiveClock) *Limit {
	return &Limit{next: next, clock: at, left: map[string]budget{}, swept: at.Now()}
}

// Handles implements admission.Interface.
func (l *Limit) Handles(operation admission.Operation) bool {
	return stores(operation) || l.next.Handles(operation)
}

// Admit implements admission.MutationInterface.
func (l *Limit) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if next, ok := l.next.(admission.MutationInterface); ok && next.Handles(a.GetOperation()) {
		return next.Admit(ctx, a, o)
	}
	return nil
}

// Validate implements admission.ValidationInterface. It checks the limits before the chain, which may be expensive.
func (l *Limit) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if stores(a.GetOperation()) && a.GetObject() != nil && slices.ContainsFunc(a.GetUserInfo().GetGroups(), isOfMembers) {
		if err := l.take(a); err != nil {
			return err
		}
	}
	if next, ok := l.next.(admission.ValidationInterface); ok && next.Handles(a.GetOperation()) {
		return next.Validate(ctx, a, o)
	}
	return nil
}

// take refuses a write of an agent or a join token holder, or deducts it from the user's budget.
func (l *Limit) take(a admission.Attributes) error {
	var sent, whole int
	switch object := a.GetObject().(type) {
	case *unstructured.Unstructured:
		whole = size(object.Object)
		sent = whole
		if a.GetSubresource() != "status" { // the status is unchanged, and may be older than the limit
			if a.GetOperation() == admission.Update && a.GetResource().Resource == "works" { // of a Work an agent only changes the finalizers
				sent = size(object.Object["metadata"]) + record
			}
			break
		}
		status := size(object.Object["status"])
		if status > maxStatus {
			return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("the status of %s %q would have %d bytes, and an agent may report no more than %d",
				a.GetResource().Resource, a.GetName(), status, maxStatus))
		}
		sent = status + record
	default: // built-in kinds
		var err error
		if whole, err = encoded(a, object); err != nil {
			return err
		}
		if whole > maxObject {
			before, err := encoded(a, a.GetOldObject())
			if err != nil {
				return err
			}
			if whole > before {
				return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("%s %q would have %d bytes with its metadata.managedFields, and a member may write no more than %d",
					a.GetResource().Resource, a.GetName(), whole, maxObject))
			}
		}
		sent = whole
	}
	if a.IsDryRun() {
		return nil
	}
	wait := l.spend(a.GetUserInfo().GetName(), sent, whole)
	if wait == 0 {
		return nil
	}
	return apierrors.NewTooManyRequests(fmt.Sprintf("user %q has written too much in a short time, %d MiB or %d MiB of whole objects; it may go on with %s %q in %d s",
		a.GetUserInfo().GetName(), burst>>20, stored>>20, a.GetResource().Resource, a.GetName(), wait), wait)
}

// encoded returns the size of an object of a built-in kind in bytes; 0 for nil.
func encoded(a admission.Attributes, object runtime.Object) (int, error) {
	if object == nil {
		return 0, nil
	}
	out, err := json.Marshal(object)
	if err != nil {
		return 0, fmt.Errorf("looking how large %s %q is: %w", a.GetResource().Resource, a.GetName(), err)
	}
	return len(out), nil
}

// isOfMembers says whether a group is that of agents or of join token holders.
func isOfMembers(group string) bool { return group == agents || strings.HasPrefix(group, tokens) }

// spend deducts bytes from a user's budget, or returns in how many seconds they will be available.
func (l *Limit) spend(user string, sent, whole int) (wait int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	l.forget(now)
	of, known := l.left[user]
	if !known {
		of = budget{rate.NewLimiter(perSecond, burst), rate.NewLimiter(storedPerSecond, stored)}
		l.left[user] = of
	}
	sent, whole = min(sent, burst), min(whole, stored)
	seconds := max((float64(sent)-of.sent.TokensAt(now))/perSecond, (float64(whole)-of.stored.TokensAt(now))/storedPerSecond)
	if seconds > 0 {
		return max(1, int(math.Ceil(seconds)))
	}
	of.sent.AllowN(now, sent)
	of.stored.AllowN(now, whole)
	return 0
}

// forget drops agents with a full budget, which is where they would start again. Otherwise the names of removed agents
// would stay forever.
func (l *Limit) forget(now time.Time) {
	if now.Sub(l.swept) < sweep {
		return
	}
	l.swept = now
	maps.DeleteFunc(l.left, func(_ string, of budget) bool {
		return of.sent.TokensAt(now) >= burst && of.stored.TokensAt(now) >= stored
	})
}

// stores says whether an operation stores the object in the request.
func stores(operation admission.Operation) bool {
	return operation == admission.Create || operation == admission.Update
}
