"""An agent that is a service, and the ini file that attaches it."""
