package cli

import (
	"bytes"
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/common/logging"
)

func TestAnEtcdThatDoesNotAnswerIsTold(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var said bytes.Buffer
	log, err := logging.New(&said, logging.FormatText, 0)
	g.Expect(err).NotTo(HaveOccurred())
	ctx := ctrl.LoggerInto(t.Context(), log)
	var answer error
	p := &etcdProbe{ask: func(context.Context) error { return answer }}

	p.look(ctx)
	g.Expect(p.check(nil)).To(Succeed())
	g.Expect(said.String()).To(BeEmpty(), "that all is well is not worth a line")

	answer = errors.New("it is down")
	p.look(ctx)
	p.look(ctx)
	g.Expect(p.check(nil)).To(MatchError(ContainSubstring("etcdctl endpoint health")))
	g.Expect(bytes.Count(said.Bytes(), []byte("it is down"))).To(Equal(1), "once")

	answer = nil
	p.look(ctx)
	g.Expect(p.check(nil)).To(Succeed())
	g.Expect(said.String()).To(ContainSubstring("answers again"))
}

func TestAHubThatLostItsTurnSaysWhatToDo(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	lost := errors.New(leaderElectionLost)
	g.Expect(stopped(lost, true)).To(MatchError(And(ContainSubstring("start it again"), ContainSubstring("etcdctl endpoint health"))))
	g.Expect(stopped(lost, false)).To(MatchError(ContainSubstring("kubectl get --raw")))
	g.Expect(stopped(errors.New("another"), true)).To(MatchError("the hub stopped: another"))
}
