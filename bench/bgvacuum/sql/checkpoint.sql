-- By work done and not by time: both sides of a ratio are to have as many full-page images.
\set call :call + 1
\if :client_id = 0 and :call % :checkpoint_every = 0
CHECKPOINT;
\endif
