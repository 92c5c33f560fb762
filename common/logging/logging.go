package logging

import (
	"fmt"
	"io"

	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"k8s.io/klog/v2"

	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// Formats of the log.
const (
	// FormatText is one readable line per entry.
	FormatText = "text"
	// FormatJSON is one JSON object per line.
	FormatJSON = "json"
)

// New returns a logger that writes to w in the given format. Verbosity 0 logs changes, 1 also details and why
// something did not change.
func New(w io.Writer, format string, verbosity int) (logr.Logger, error) {
	config := zap.NewProductionEncoderConfig()
	config.EncodeTime = zapcore.RFC3339TimeEncoder
	var encoder zapcore.Encoder
	switch format {
	case FormatText:
		config.EncodeLevel = zapcore.CapitalLevelEncoder
		encoder = zapcore.NewConsoleEncoder(config)
	case FormatJSON:
		encoder = zapcore.NewJSONEncoder(config)
	default:
		return logr.Logger{}, fmt.Errorf("log format %q is neither %s nor %s", format, FormatText, FormatJSON)
	}
	level := zapcore.Level(-verbosity)
	return zapr.NewLogger(zap.New(zapcore.NewCore(encoder, zapcore.AddSync(w), level))), nil
}

// Install makes a logger the one of controller-runtime and client-go.
func Install(log logr.Logger) {
	ctrllog.SetLogger(log)
	klog.SetLogger(log.WithName("client-go"))
}

// Quiet drops what libraries log until a logger is installed: a command reports errors itself, once and with advice.
func Quiet() { klog.SetLogger(logr.Discard()) }
