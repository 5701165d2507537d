"""Topics about answers, their causes of failure and their judges."""
