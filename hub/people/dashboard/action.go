package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// noticeNote is the key of the notice that is shown once, on the page after an action.
const (
	noticeNote = "notice"
	noticeLife = 2 * time.Minute
)

// question is the form in which a person confirms an action.
type question struct {
	// Title says what is to be done, Text what it means, and Points the details.
	Title, Text string
	Points      []string
	// Warning is shown prominently; empty if there is none.
	Warning string
	// Button is the text of the button that confirms, and Back the path to cancel to.
	Button, Back string
	Danger       bool
	// Options are check boxes.
	Options []option
	// CSRF and Fields are hidden fields of the form.
	CSRF   string
	Fields map[string]string
}

// option is a check box.
type option struct{ Name, Text string }

// action is something that a person can do. No state is kept between the question and the answer; everything is checked
// again.
type action struct {
	// ask returns the question, or the reason why the action is impossible.
	ask func(ctx context.Context, v *visit) (*question, error)
	// do executes the action as the person, and returns a notice and the page to go to.
	do func(ctx context.Context, v *visit) (notice, to string, err error)
}

// actions returns all actions, by the path of their question.
func (s *Server) actions() map[string]action {
	return map[string]action{
		"/clusters/{cluster}/cordon":                 {s.askCordon, s.doCordon},
		"/clusters/{cluster}/uncordon":               {s.askUncordon, s.doUncordon},
		"/join/{cluster}/approve":                    {s.askApprove, s.doApprove},
		"/policies/{namespace}/{name}/suspend":       {s.askSuspend(true), s.doSuspend(true)},
		"/policies/{namespace}/{name}/resume":        {s.askSuspend(false), s.doSuspend(false)},
		"/applications/{namespace}/{name}/rebalance": {s.askRebalance, s.doRebalance},
		"/rollouts/{namespace}/{name}/pause":         {s.askPause(true), s.doPause(true)},
		"/rollouts/{namespace}/{name}/resume":        {s.askPause(false), s.doPause(false)},
		"/rollouts/{namespace}/{name}/approve":       {s.askApproveWave, s.doApproveWave},
		"/rollouts/{namespace}/{name}/undo":          {s.askUndo, s.doUndo},
		"/rollouts/{namespace}/{name}/abort":         {s.askAbort, s.doAbort},
		"/rollouts/{namespace}/{name}/retry":         {s.askRetry, s.doRetry},
		"/rollouts/{namespace}/{name}/skip":          {s.askSkip, s.doSkip},
	}
}

// confirm serves the question of an action.
func (s *Server) confirm(a action) visitFunc {
	return func(w http.ResponseWriter, r *http.Request, v *visit) {
		q, err := a.ask(r.Context(), v)
		if err != nil {
			s.serveError(w, r, v, err)
			return
		}
		q.CSRF = v.session.CSRF
		s.write(w, v, &page{
			title: q.Title, heading: heading{Title: q.Title},
			fragments: []fragment{{id: "question", template: "question", data: q, still: true}},
		}, http.StatusOK)
	}
}

// act executes a confirmed action.
func (s *Server) act(a action) visitFunc {
	return func(w http.ResponseWriter, r *http.Request, v *visit) {
		if err := s.checkForm(r, v); err != nil {
			s.serveError(w, r, v, err)
			return
		}
		notice, to, err := a.do(r.Context(), v)
		if err != nil {
			s.serveError(w, r, v, err)
			return
		}
		s.log.Info("Doing what a user asked for", "user", v.user.Name, "path", r.URL.Path)
		s.signIn.Sessions.AddNote(v.session, noticeNote, notice, noticeLife)
		http.Redirect(w, r, to, http.StatusSeeOther)
	}
}

// checkForm returns an error unless a form comes from a page of this session.
func (s *Server) checkForm(r *http.Request, v *visit) error {
	if err := r.ParseForm(); err != nil {
		return badRequestError{fmt.Sprintf("The form could not be read: %v.", err)}
	}
	if !v.session.IsCSRF(r.PostForm.Get("csrf")) {
		return badRequestError{"This form is of another session: load the page again."}
	}
	return nil
}
