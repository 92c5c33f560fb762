package cli

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"k8s.io/utils/clock"

	"fairlead.dev/agent/registration"
	"fairlead.dev/agent/setup"
	"fairlead.dev/common/contract"
)

// Values of --output.
const (
	outputText = "text"
	outputJSON = "json"
)

// errUnhealthy is the error of `agent status` if something is wrong; the output says what.
var errUnhealthy = errors.New("the agent is not healthy; see above")

// statusReport is the output of `agent status`.
type statusReport struct {
	Cluster string `json:"cluster"`
	// Running says whether an agent runs with the state directory; Report is its answer.
	Running bool          `json:"running"`
	Report  *setup.Report `json:"report,omitempty"`
	// Expires is when the agent's certificate expires.
	Expires time.Time `json:"certificateExpires"`
}

func newStatus() *cobra.Command {
	var stateDir, output string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the status of the agent of this cluster",
		Long: "Show the status of the agent that runs with a state directory: whether it reaches the hub, when its certificate expires, how many\n" +
			"Works are applied and which are not, since when a status has not reached the hub, and which changes were put back.\n" +
			"It fails if the agent is not healthy.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != outputText && output != outputJSON {
				return fmt.Errorf("--output is %q; it is %s or %s", output, outputText, outputJSON)
			}
			now := clock.RealClock{}.Now()
			s, err := readStatus(cmd, stateDir)
			if err != nil {
				return err
			}
			if output == outputJSON {
				encoder := json.NewEncoder(cmd.OutOrStdout())
				encoder.SetIndent("", "  ")
				err = encoder.Encode(s)
			} else {
				err = s.print(cmd.OutOrStdout(), now)
			}
			if err == nil && !s.isHealthy(now) {
				err = errUnhealthy
			}
			return err
		},
	}
	cmd.Flags().StringVar(&stateDir, "state-dir", defaultStateDir, "directory that holds the identity of the agent")
	cmd.Flags().StringVarP(&output, "output", "o", outputText, "output format: text or json")
	return cmd
}

// readStatus gathers the report.
func readStatus(cmd *cobra.Command, stateDir string) (statusReport, error) {
	config, err := registration.Load(stateDir, "")
	if err != nil {
		return statusReport{}, err
	}
	block, _ := pem.Decode(config.CertData)
	if block == nil {
		return statusReport{}, fmt.Errorf("%q holds no certificate; join again", stateDir)
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return statusReport{}, fmt.Errorf("reading the agent's certificate: %w; join again", err)
	}
	s := statusReport{Expires: certificate.NotAfter}
	s.Cluster, _ = contract.AgentCluster(certificate.Subject.CommonName)
	report, err := setup.AskReport(cmd.Context(), stateDir)
	switch {
	case errors.Is(err, setup.ErrNotRunning):
		return s, nil
	case err != nil:
		return statusReport{}, err
	}
	s.Running, s.Report = true, &report
	return s, nil
}

// isHealthy returns whether everything is as it should be.
func (s statusReport) isHealthy(now time.Time) bool {
	return s.Running && s.Report.Silence == "" && s.Report.Refused.IsZero() && s.Report.Ready && s.Report.Works.Failing == 0 && s.Report.Held == "" && now.Before(s.Expires)
}

// print prints the report for people.
func (s statusReport) print(out io.Writer, now time.Time) error {
	ago := func(t time.Time) string { return now.Sub(t).Round(time.Second).String() + " ago" }
	lines := [][2]string{{"Cluster", s.Cluster}}
	if left := s.Expires.Sub(now); left > 0 {
		lines = append(lines, [2]string{"Certificate", fmt.Sprintf("ends %s, in %d days", s.Expires.UTC().Format(time.RFC3339), int(left.Hours()/24))})
	} else {
		lines = append(lines, [2]string{"Certificate", "ended " + s.Expires.UTC().Format(time.RFC3339) + "; join again, unless another agent has this cluster"})
	}
	if !s.Running {
		lines = append(lines, [2]string{"Agent", "not running with this state directory; start it with `agent run`"})
	} else {
		r := s.Report
		hub := r.Hub + ", heard " + ago(r.Heard)
		if r.Silence != "" {
			hub = r.Hub + ", not heard: " + r.Silence
			if !r.Heard.IsZero() {
				hub = r.Hub + ", not heard since " + ago(r.Heard) + ": " + r.Silence
			}
		}
		unsent := "none"
		if r.Works.Unsent > 0 {
			unsent = fmt.Sprintf("%d, the oldest %s", r.Works.Unsent, ago(r.Works.Oldest))
		}
		lines = append(lines,
			[2]string{"Agent", "running, started " + ago(r.Started)},
			[2]string{"Hub", hub},
			[2]string{"Member", r.Member},
			[2]string{"Works", fmt.Sprintf("%d, %d applied, %d failing", r.Works.Known, r.Works.Applied, r.Works.Failing)},
			[2]string{"Unsent", unsent},
			[2]string{"Drift", fmt.Sprintf("%d put back since the start", r.Drift)},
			[2]string{"Unclaimed", fmt.Sprintf("%d objects", r.Unclaimed)},
		)
		if !r.Refused.IsZero() {
			lines = append(lines, [2]string{"Refused", "by the hub since " + ago(r.Refused) + ", so that what is in this cluster is left as it is; join again, " +
				"or another agent has this cluster: stop this one"})
		}
		if r.Line != nil {
			lines = append(lines, [2]string{"Line", lineSentence(*r.Line, ago)})
		}
		if r.Held != "" {
			lines = append(lines, [2]string{"Deletions", "held: " + r.Held})
		}
		for _, f := range r.Works.Failures {
			lines = append(lines, [2]string{"Failing", f.Work + ": " + f.Message})
		}
	}
	for _, line := range lines {
		if _, err := fmt.Fprintf(out, "%-12s %s\n", line[0], line[1]); err != nil {
			return err
		}
	}
	return nil
}

// lineSentence describes the line to the hub, which only operators need.
func lineSentence(r setup.LineReport, ago func(time.Time) string) string {
	out := "none yet"
	switch {
	case r.Up:
		return "up, opened " + ago(r.Since)
	case !r.Since.IsZero():
		out = "lost " + ago(r.Since)
	}
	if r.Reason != "" {
		out += ": " + r.Reason
	}
	return out
}
