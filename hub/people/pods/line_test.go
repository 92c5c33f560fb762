package pods

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestHowALineIs(t *testing.T) {
	t.Parallel()
	const since, lost = "2026-11-23T08:00:00Z", "2026-11-23T09:00:00Z"
	opened, ended := time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC), time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	lines := schema.GroupResource{Group: "connect.fairlead.dev", Resource: "lines"}
	tests := map[string]struct {
		line *Line
		err  error
		want LineState
		// remark is a part of the remark; empty if none is expected.
		remark string
	}{
		"up":                           {line: &Line{Up: true, Since: since, Operators: "read"}, want: LineState{Known: true, Up: true, At: opened, Operators: "read"}},
		"up, and nobody is let in":     {line: &Line{Up: true, Since: since, Operators: OperatorsOff}, want: LineState{Known: true, Up: true, At: opened, Operators: OperatorsOff}, remark: "agent operators group:NAME"},
		"lost":                         {line: &Line{Since: since, Lost: lost, Operators: "read"}, want: LineState{Known: true, At: ended, Operators: "read"}, remark: "check whether the agent runs"},
		"closed":                       {line: &Line{Since: since, Lost: lost, Goodbye: true}, want: LineState{Known: true, At: ended}, remark: "stopped or upgraded"},
		"lost at a time nobody wrote":  {line: &Line{}, want: LineState{Known: true}, remark: "check whether the agent runs"},
		"none":                         {remark: "has no line to the hub yet"},
		"a hub of before":              {err: apierrors.NewNotFound(lines, ""), remark: "this hub cannot reach into clusters yet"},
		"who may not see it":           {err: apierrors.NewForbidden(lines, "", nil)},
		"a hub that does not say that": {err: errors.New("it is on fire"), remark: "could not be found out: it is on fire"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got := stateOf("edge-1", tc.line, tc.err)
			g.Expect(got.Remark).To(ContainSubstring(tc.remark))
			g.Expect(got.Remark == "").To(Equal(tc.remark == ""))
			g.Expect(got.Warning("edge-1")).To(HaveSuffix(got.Remark))
			got.Remark = ""
			g.Expect(got).To(Equal(tc.want))
		})
	}
}
