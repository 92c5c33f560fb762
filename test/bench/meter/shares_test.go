package meter_test

import (
	"testing"

	"github.com/google/pprof/profile"
	. "github.com/onsi/gomega"

	"fairlead.dev/test/bench/meter"
)

// profiled returns a profile of stacks, each of ten milliseconds. A stack begins with the running function.
func profiled(stacks ...[]string) *profile.Profile {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}}
	functions := map[string]*profile.Location{}
	for _, stack := range stacks {
		sample := &profile.Sample{Value: []int64{1, 10_000_000}}
		for _, name := range stack {
			if functions[name] == nil {
				id := uint64(len(functions) + 1)
				f := &profile.Function{ID: id, Name: name}
				functions[name] = &profile.Location{ID: id, Line: []profile.Line{{Function: f}}}
				p.Function, p.Location = append(p.Function, f), append(p.Location, functions[name])
			}
			sample.Location = append(sample.Location, functions[name])
		}
		p.Sample = append(p.Sample, sample)
	}
	return p
}

func TestAProfileIsSharedOutByWhatAnAPIServerDoes(t *testing.T) {
	t.Parallel()
	const (
		patch    = "k8s.io/apiserver/pkg/endpoints/handlers.(*jsonPatcher).applyPatchToCurrentObject"
		storage  = "k8s.io/apiserver/pkg/storage/etcd3.(*store).GuaranteedUpdate"
		decode   = "k8s.io/apimachinery/pkg/runtime/serializer/versioning.(*codec).Decode"
		encode   = "k8s.io/apimachinery/pkg/runtime/serializer/json.(*Serializer).Encode"
		validate = "k8s.io/apiextensions-apiserver/pkg/apiserver/validation.(*RatchetingSchemaValidator).ValidateUpdate"
		fields   = "k8s.io/apimachinery/pkg/util/managedfields/internal.(*structuredMergeManager).Update"
		policy   = "k8s.io/apiserver/pkg/admission/plugin/policy/validating.(*Plugin).Validate"
		// surrounds wraps every write, but is not admission itself.
		surrounds = "k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager.(*managedFieldsValidatingAdmissionController).Admit"
	)
	for name, tt := range map[string]struct {
		stack []string
		want  string
	}{
		"a search for garbage, whoever has to help": {[]string{"runtime.gcAssistAlloc", decode, storage}, "collecting garbage"},
		"an object that is read from the database":  {[]string{"encoding/json.Unmarshal", decode, storage}, "decoding, beside patches and watches"},
		"an object that is written to it":           {[]string{encode, storage}, "encoding, beside watches"},
		"a patch, and what it decodes":              {[]string{decode, patch, storage}, "applying patches"},
		"the fields that a patch makes somebody's":  {[]string{fields, patch, storage}, "managed fields"},
		"a schema":                   {[]string{"github.com/google/cel-go/cel.(*prog).Eval", validate, surrounds, storage}, "validation"},
		"a policy":                   {[]string{"github.com/google/cel-go/cel.(*prog).Eval", policy, surrounds, storage}, "admission"},
		"an event of a watch":        {[]string{encode, "k8s.io/apiserver/pkg/endpoints/handlers.(*watchEncoder).Encode"}, "events of watches: encoding and sending"},
		"an event of the database":   {[]string{decode, "k8s.io/apiserver/pkg/storage/etcd3.(*watchChan).transform"}, "events of watches: reading and distributing"},
		"what the bench asks for":    {[]string{"runtime.mallocgc", "github.com/prometheus/client_golang/prometheus/promhttp.HandlerForTransactional.func1"}, "metrics and profiles, which the bench reads"},
		"what nobody has thought of": {[]string{"example.com/strange.Thing"}, "all else"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			parts := map[string]float64{}
			for _, share := range meter.Shares(profiled(tt.stack)) {
				if share.Part != 0 {
					parts[share.Of] = share.Part
				}
			}
			g.Expect(parts).To(Equal(map[string]float64{tt.want: 1}))
		})
	}
}

func TestSharesAreOfAllThatWasSeen(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	garbage, policy := []string{"runtime.bgsweep"}, []string{"k8s.io/apiserver/pkg/admission/plugin/policy/validating.(*Plugin).Validate"}
	got := map[string]float64{}
	for _, share := range meter.Shares(profiled(garbage, policy, policy, []string{"main.main"})) {
		if share.Part > 0 {
			got[share.Of] = share.Part
		}
	}
	g.Expect(got).To(Equal(map[string]float64{"collecting garbage": 0.25, "admission": 0.5, "all else": 0.25}))
	for _, share := range meter.Shares(profiled()) {
		g.Expect(share.Part).To(BeZero())
	}
}
