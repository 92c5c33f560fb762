package agentlimit

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"

	"golang.org/x/time/rate"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/utils/clock"
)

const (
	// agents is the group of all agents; the contract of hub and agents has it.
	agents = "system:karmada:agents"
	// maxStatus is how many bytes a status of an agent may have. An object may have 1.5 MiB, of which the hub needs the rest.
	maxStatus = 768 << 10
	// burst is how many bytes an agent may write at once, and perSecond is how many of them come back.
	burst     = 64 << 20
	perSecond = 1 << 20
)

// Limit is a chain of admission behind what agents may store.
type Limit struct {
	next  admission.Interface
	clock clock.PassiveClock

	mu sync.Mutex
	// left is what each agent has left, by its name. There is one for each cluster.
	left map[string]*rate.Limiter
}

// New returns the chain behind the limits.
func New(next admission.Interface, at clock.PassiveClock) *Limit {
	return &Limit{next: next, clock: at, left: map[string]*rate.Limiter{}}
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

// Validate implements admission.ValidationInterface. What is beyond the limits the chain does not see: to look at it may take long.
func (l *Limit) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if stores(a.GetOperation()) && a.GetObject() != nil && slices.Contains(a.GetUserInfo().GetGroups(), agents) {
		if err := l.take(a); err != nil {
			return err
		}
	}
	if next, ok := l.next.(admission.ValidationInterface); ok && next.Handles(a.GetOperation()) {
		return next.Validate(ctx, a, o)
	}
	return nil
}

// take refuses what an agent writes, or takes it off what that agent has left.
func (l *Limit) take(a admission.Attributes) error {
	var bytes int
	switch object := a.GetObject().(type) {
	case *unstructured.Unstructured:
		// Whoever writes the rest changes nothing of a status, which may be from before there was a limit.
		if status := size(object.Object["status"]); status > maxStatus && a.GetSubresource() == "status" {
			return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("the status of %s %q would have %d bytes, and an agent may report no more than %d",
				a.GetResource().Resource, a.GetName(), status, maxStatus))
		}
		bytes = size(object.Object)
	default: // what Kubernetes has itself
		encoded, err := json.Marshal(object)
		if err != nil {
			return fmt.Errorf("looking how large %s %q is: %w", a.GetResource().Resource, a.GetName(), err)
		}
		bytes = len(encoded)
	}
	if a.IsDryRun() {
		return nil
	}
	now, of := l.clock.Now(), l.of(a.GetUserInfo().GetName())
	if of.AllowN(now, min(bytes, burst)) {
		return nil
	}
	wait := max(1, int(math.Ceil((float64(bytes)-of.TokensAt(now))/perSecond)))
	return apierrors.NewTooManyRequests(fmt.Sprintf("the agent has written %d MiB in a short time; it may go on with %s %q in %d s",
		burst>>20, a.GetResource().Resource, a.GetName(), wait), wait)
}

func (l *Limit) of(user string) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.left[user]
	if of == nil {
		of = rate.NewLimiter(perSecond, burst)
		l.left[user] = of
	}
	return of
}

// stores says whether an operation writes what somebody sends.
func stores(operation admission.Operation) bool {
	return operation == admission.Create || operation == admission.Update
}
