package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"fairlead.dev/common/interpreter/store"
)

func TestARefusalIsLoggedOnceAndForEachKind(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var lines []string
	now := clocktesting.NewFakePassiveClock(time.Unix(1_000_000, 0))
	refusals := store.NewRefusals(funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{}), now)
	scripts := schema.GroupResource{Group: "config.karmada.io", Resource: "resourceinterpretercustomizations"}
	hooks := schema.GroupResource{Group: "config.karmada.io", Resource: "resourceinterpreterwebhookconfigurations"}
	refuse := func(err error) {
		refusals.WatchFailed(t.Context(), nil, fmt.Errorf("failed to list: %w", err))
		now.SetTime(now.Now().Add(30 * time.Second))
	}
	forbidden := apierrors.NewForbidden(hooks, "", errors.New("no"))
	refuse(forbidden)
	g.Expect(lines).To(BeEmpty(), "a hub that starts refuses as well")
	now.SetTime(now.Now().Add(time.Hour))
	refuse(forbidden)
	g.Expect(lines).To(BeEmpty(), "what was long ago has nothing to do with it")
	for range 5 {
		refuse(forbidden)
	}
	g.Expect(lines).To(ConsistOf(And(
		ContainSubstring("rights to get, list and watch"), ContainSubstring(`"resourceinterpreterwebhookconfigurations.config.karmada.io"`),
	)))
	now.SetTime(now.Now().Add(time.Hour))
	for range 5 {
		refuse(forbidden)
	}
	g.Expect(lines).To(HaveLen(2), "the right was given and is taken again")
	lines = lines[:1]
	for range 5 {
		refuse(apierrors.NewGenericServerResponse(404, "list", scripts, "", "", 0, true))
	}
	g.Expect(lines).To(HaveLen(2))
	g.Expect(lines[1]).To(And(ContainSubstring("CustomResourceDefinition"), ContainSubstring(`"resourceinterpretercustomizations.config.karmada.io"`)))
}
