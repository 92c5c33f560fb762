package rules_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/rules"
	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/lua"
	"fairlead.dev/common/interpreter/store"
)

var (
	mill = schema.GroupVersionKind{Group: "farm.example.com", Version: "v1", Kind: "Mill"}
	barn = schema.GroupVersionKind{Group: "farm.example.com", Version: "v1", Kind: "Barn"}

	errRefused = apierrors.NewForbidden(
		schema.GroupResource{Group: configv1alpha1.GroupVersion.Group, Resource: "resourceinterpretercustomizations"}, "", errors.New("no such right"))
	errSilent = errors.New("nobody answers")
)

// rulesOf is a customization of a kind.
func rulesOf(kind schema.GroupVersionKind) configv1alpha1.ResourceInterpreterCustomization {
	return configv1alpha1.ResourceInterpreterCustomization{
		ObjectMeta: metav1.ObjectMeta{Name: kind.Kind},
		Spec: configv1alpha1.ResourceInterpreterCustomizationSpec{
			Target: configv1alpha1.CustomizationTarget{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind},
			Customizations: configv1alpha1.CustomizationRules{
				HealthInterpretation: &configv1alpha1.LuaRule{LuaScript: "function InterpretHealth(o) return true end"},
			},
		},
	}
}

// hub has rules for mills, or answers with an error.
type hub struct {
	mu    sync.Mutex
	err   error
	asked int
}

func (h *hub) answer(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = err
}

func (h *hub) requests() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked
}

func (*hub) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("nobody gets one")
}

func (h *hub) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked++
	if all, ok := list.(*configv1alpha1.ResourceInterpreterCustomizationList); ok && h.err == nil {
		all.Items = append(all.Items, rulesOf(mill))
	}
	return h.err
}

// agent waits for the rules of a hub.
type agent struct {
	*rules.Rules

	kinds *store.Store
	hub   *hub
	told  atomic.Int32
	// works is closed when the hub has said which Works there are.
	works chan struct{}
}

// newAgent returns an agent with the rules that were kept, if any. Use it in a synctest bubble.
func newAgent(t *testing.T, kept *store.Sources) *agent {
	t.Helper()
	compiler, err := lua.NewCompiler(lua.Options{})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	a := &agent{hub: &hub{}, works: make(chan struct{}), kinds: store.New(store.Options{Compiler: compiler, NoWebhooks: true, Kept: kept})}
	a.Rules = rules.New(rules.Deps{
		Store: a.kinds, Hub: a.hub, NoWebhooks: true, Clock: clock.RealClock{},
		Kept: kept != nil, Refused: kept != nil && kept.Refused && kept.Empty(),
		Heard: func(ctx context.Context) bool {
			select {
			case <-a.works:
				return true
			case <-ctx.Done():
				return false
			}
		},
	})
	a.Subscribe(func() { a.told.Add(1) })
	return a
}

// start runs it until the returned function is called.
func (a *agent) start(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { NewWithT(t).Expect(a.Start(ctx)).To(Succeed()) })
	return func() {
		cancel()
		done.Wait()
	}
}

func (a *agent) has(kind schema.GroupVersionKind) bool {
	return a.kinds.Has(kind, interpreter.InterpretHealth)
}

func (a *agent) isLoaded() bool {
	select {
	case <-a.kinds.Loaded():
		return true
	default:
		return false
	}
}

// after waits until so long after the bubble began.
func after(began time.Time, d time.Duration) {
	time.Sleep(time.Until(began.Add(d)))
	synctest.Wait()
}

// TestARefusalOfAHubThatJustStartsLeavesInForceWhatWasKept covers a hub that refuses for a moment at its start and
// then serves its rules.
func TestARefusalOfAHubThatJustStartsLeavesInForceWhatWasKept(t *testing.T) {
	t.Parallel()
	for name, kept := range map[string]store.Sources{
		"rules":                            {Customizations: []configv1alpha1.ResourceInterpreterCustomization{rulesOf(barn)}},
		"rules, where others were refused": {Customizations: []configv1alpha1.ResourceInterpreterCustomization{rulesOf(barn)}, Refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g, began, a := NewWithT(t), time.Now(), newAgent(t, &kept)
				a.hub.answer(errRefused)
				a.Load(t.Context())
				g.Expect(a.has(barn)).To(BeTrue())
				g.Expect(a.isLoaded()).To(BeFalse(), "it said nothing")
				why, _ := a.Awaits(true)
				g.Expect(why).To(BeEmpty(), "a Work of the journal goes by what was kept")
				why, lasts := a.Awaits(false)
				g.Expect(why).NotTo(BeEmpty(), "a Work of the hub waits for what the hub says")
				g.Expect(lasts).To(BeFalse())

				stop := a.start(t)
				defer stop()
				close(a.works)
				after(began, 10*time.Minute)
				g.Expect(a.has(barn)).To(BeTrue(), "a refusal that lasts takes nothing away either")
				why, _ = a.Awaits(false)
				g.Expect(why).To(BeEmpty(), "it has had its time")
				g.Expect(a.told.Load()).To(BeEquivalentTo(1))
			})
		})
	}
}

func TestAHubThatRefusedBeforeAndHadNothingToSayIsBelievedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, a := NewWithT(t), newAgent(t, &store.Sources{Refused: true})
		a.hub.answer(errRefused)
		a.Load(t.Context())
		g.Expect(a.isLoaded()).To(BeTrue())
		why, _ := a.Awaits(false)
		g.Expect(why).To(BeEmpty())
		g.Expect(a.Start(t.Context())).To(Succeed(), "there is nothing to wait for")
	})
}

// TestARefusalIsBelievedOnceItHasLasted covers an agent without kept rules: with only the built-in ones it would
// overwrite fields that belong to the member.
func TestARefusalIsBelievedOnceItHasLasted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, began, a := NewWithT(t), time.Now(), newAgent(t, nil)
		a.hub.answer(errRefused)
		a.Load(t.Context())
		stop := a.start(t)
		defer stop()
		close(a.works)

		after(began, 59*time.Second)
		why, lasts := a.Awaits(false)
		g.Expect(why).NotTo(BeEmpty())
		g.Expect(lasts).To(BeFalse(), "people are not told so far")
		g.Expect(a.Known()).To(BeFalse())
		g.Expect(a.told.Load()).To(BeZero())

		after(began, 74*time.Second) // it is asked every 15 s, and up to a fifth later
		why, lasts = a.Awaits(false)
		g.Expect(why).NotTo(BeEmpty())
		g.Expect(lasts).To(BeTrue())
		g.Expect(a.Known()).To(BeTrue(), "objects are judged by what is built in")
		g.Expect(a.isLoaded()).To(BeFalse(), "the first refusal was less than a minute ago")
		g.Expect(a.told.Load()).To(BeEquivalentTo(1))

		after(began, 3*time.Minute)
		g.Expect(a.isLoaded()).To(BeTrue())
		why, _ = a.Awaits(false)
		g.Expect(why).To(BeEmpty())
		g.Expect(a.told.Load()).To(BeEquivalentTo(2))
		asked := a.hub.requests()
		after(began, time.Hour)
		g.Expect(a.hub.requests()).To(Equal(asked), "there is nothing more to ask")
	})
}

func TestARefusalThatPassesIsNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, began, a := NewWithT(t), time.Now(), newAgent(t, nil)
		a.hub.answer(errRefused)
		a.Load(t.Context())
		stop := a.start(t)
		defer stop()
		close(a.works)
		after(began, 40*time.Second)
		a.hub.answer(errSilent)
		after(began, 100*time.Second)
		a.hub.answer(errRefused)
		after(began, 150*time.Second) // once it is late it is asked every minute, and up to a fifth later
		g.Expect(a.isLoaded()).To(BeFalse(), "the refusals began anew")
		why, lasts := a.Awaits(false)
		g.Expect(why).NotTo(BeEmpty())
		g.Expect(lasts).To(BeTrue())
		after(began, 5*time.Minute)
		g.Expect(a.isLoaded()).To(BeTrue())
	})
}

func TestAHubThatDoesNotAnswerHasNotRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, began, a := NewWithT(t), time.Now(), newAgent(t, nil)
		a.hub.answer(errSilent)
		a.Load(t.Context())
		stop := a.start(t)
		defer stop()
		after(began, time.Hour)
		g.Expect(a.hub.requests()).To(Equal(1), "it has Works first")
		why, lasts := a.Awaits(false)
		g.Expect(why).NotTo(BeEmpty())
		g.Expect(lasts).To(BeFalse())

		close(a.works)
		after(began, 2*time.Hour)
		g.Expect(a.isLoaded()).To(BeFalse())
		why, lasts = a.Awaits(false)
		g.Expect(why).NotTo(BeEmpty(), "however long it takes")
		g.Expect(lasts).To(BeTrue())

		a.hub.answer(nil)
		g.Expect(a.kinds.Load(t.Context(), a.hub)).To(Succeed()) // as the watch of the rules does
		synctest.Wait()
		why, _ = a.Awaits(false)
		g.Expect(why).To(BeEmpty())
		g.Expect(a.has(mill)).To(BeTrue())
		g.Expect(a.told.Load()).To(BeEquivalentTo(2))
	})
}
